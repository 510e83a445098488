#ifndef CSRTP_H
#define CSRTP_H
#include <srtp2/srtp.h>
#include "srtp_shim.h"
#endif

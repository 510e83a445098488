#ifndef COPUS_H
#define COPUS_H
#include <opus/opus.h>
#include "opus_shim.h"
#endif

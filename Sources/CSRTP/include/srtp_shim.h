#ifndef SRTP_SHIM_H
#define SRTP_SHIM_H
#endif

#ifndef DTLS_SHIM_H
#define DTLS_SHIM_H
#endif

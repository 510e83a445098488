#ifndef TLS_SHIM_H
#define TLS_SHIM_H
#endif

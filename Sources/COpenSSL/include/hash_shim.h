#ifndef HASH_SHIM_H
#define HASH_SHIM_H
#endif

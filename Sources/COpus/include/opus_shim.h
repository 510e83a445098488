#ifndef OPUS_SHIM_H
#define OPUS_SHIM_H
#endif

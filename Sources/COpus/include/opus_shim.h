#ifndef OPUS_SHIM_H
#define OPUS_SHIM_H

#include <opus/opus.h>

/* Swift imports no variadic function: each request of opus_*_ctl that is used has a function of its own. */

static inline int graine_opus_set_bitrate(OpusEncoder *encoder, opus_int32 bits_per_second) {
    return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
}

static inline int graine_opus_set_complexity(OpusEncoder *encoder, opus_int32 complexity) {
    return opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(complexity));
}

static inline int graine_opus_set_max_bandwidth(OpusEncoder *encoder, opus_int32 bandwidth) {
    return opus_encoder_ctl(encoder, OPUS_SET_MAX_BANDWIDTH(bandwidth));
}

static inline int graine_opus_set_dtx(OpusEncoder *encoder, opus_int32 on) {
    return opus_encoder_ctl(encoder, OPUS_SET_DTX(on));
}

static inline int graine_opus_set_vbr(OpusEncoder *encoder, opus_int32 on) {
    return opus_encoder_ctl(encoder, OPUS_SET_VBR(on));
}

static inline int graine_opus_set_voice(OpusEncoder *encoder) {
    return opus_encoder_ctl(encoder, OPUS_SET_SIGNAL(OPUS_SIGNAL_VOICE));
}

static inline int graine_opus_encoder_reset(OpusEncoder *encoder) {
    return opus_encoder_ctl(encoder, OPUS_RESET_STATE);
}

static inline int graine_opus_decoder_reset(OpusDecoder *decoder) {
    return opus_decoder_ctl(decoder, OPUS_RESET_STATE);
}

#endif

/* Keeps CSRTP a compiled C target; the shims stand beside it. */

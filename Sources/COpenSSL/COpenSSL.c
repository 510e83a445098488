/* Keeps COpenSSL a compiled C target; the shims stand beside it. */

/* Keeps COpus a compiled C target; the shims stand beside it. */

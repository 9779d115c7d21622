/* version.c - see version.h; the number comes from the build. */
#include "version.h"

const char sbtrace_version[] = SBTRACE_VERSION;

/* tools/version.h - the version of sbtrace, as --version prints it. */
#ifndef TOOLS_VERSION_H
#define TOOLS_VERSION_H

extern const char sbtrace_version[];

#endif

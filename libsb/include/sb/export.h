/* sb/export.h - marks the functions that libsb.so exports. */
#ifndef SB_EXPORT_H
#define SB_EXPORT_H

#if defined(__GNUC__)
#define sb_export __attribute__((visibility("default")))
#else
#define sb_export
#endif

#endif

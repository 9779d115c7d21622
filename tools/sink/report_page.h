/* tools/sink/report_page.h - the report's page, report/page.html, cut where its data goes. */
#ifndef TOOLS_SINK_REPORT_PAGE_H
#define TOOLS_SINK_REPORT_PAGE_H

#include <stddef.h>

extern const char report_page_before[], report_page_behind[];
extern const size_t report_page_before_size, report_page_behind_size;

#endif

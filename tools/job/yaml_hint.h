/* tools/job/yaml_hint.h - what libyaml complains about, in words for who writes a job. */
#ifndef TOOLS_JOB_YAML_HINT_H
#define TOOLS_JOB_YAML_HINT_H

#include <stddef.h>

#include <yaml.h>

/* What is likely to help against @parser's error in @text, such as ": tabs do not indent in YAML: write
 * blanks"; empty when nothing is known. */
void yaml_hint(char *hint, size_t hint_size, const yaml_parser_t *parser, const unsigned char *text,
               size_t size);

#endif

/* field_put.h - telling a visitor of a field, one function per kind; and the rows that tell all of a type's.
 */
#ifndef LIBSB_RECORD_FIELD_PUT_H
#define LIBSB_RECORD_FIELD_PUT_H

#include <sb/record_fields.h>

typedef void fields_of(const struct sb_field_visitor *visitor, const struct sb_record *record);

extern fields_of *const kernel_fields[]; /* by type; NULL: has none */
extern const uint32_t kernel_fields_count;
extern fields_of *const perf_fields[]; /* by type - 64 */
extern const uint32_t perf_fields_count;

fields_of sample_fields, read_fields;

static inline void put_signed(const struct sb_field_visitor *visitor, const char *name, int64_t value)
{
	visitor->field(visitor->context,
	               &(struct sb_field){.name = name, .kind = sb_field_signed, .u.i = value});
}

static inline void put_unsigned(const struct sb_field_visitor *visitor, const char *name, uint64_t value)
{
	visitor->field(visitor->context,
	               &(struct sb_field){.name = name, .kind = sb_field_unsigned, .u.u = value});
}

static inline void put_hex(const struct sb_field_visitor *visitor, const char *name, uint64_t value)
{
	visitor->field(visitor->context,
	               &(struct sb_field){.name = name, .kind = sb_field_hex, .u.u = value});
}

static inline void put_real(const struct sb_field_visitor *visitor, const char *name, double value)
{
	visitor->field(visitor->context,
	               &(struct sb_field){.name = name, .kind = sb_field_real, .u.real = value});
}

static inline void put_flag(const struct sb_field_visitor *visitor, const char *name, int is_set)
{
	visitor->field(visitor->context,
	               &(struct sb_field){.name = name, .kind = sb_field_flag, .u.is_set = is_set != 0});
}

static inline void put_string(const struct sb_field_visitor *visitor, const char *name, const char *text)
{
	visitor->field(visitor->context,
	               &(struct sb_field){.name = name, .kind = sb_field_string, .u.text = text});
}

static inline void put_bytes(const struct sb_field_visitor *visitor, const char *name, const uint8_t *bytes,
                             uint64_t count)
{
	visitor->field(
	        visitor->context,
	        &(struct sb_field){.name = name, .kind = sb_field_bytes, .u.bytes = bytes, .count = count});
}

static inline void put_numbers(const struct sb_field_visitor *visitor, const char *name, const uint8_t *bytes,
                               uint64_t count)
{
	visitor->field(
	        visitor->context,
	        &(struct sb_field){.name = name, .kind = sb_field_numbers, .u.bytes = bytes, .count = count});
}

static inline void put_pid_tid(const struct sb_field_visitor *visitor, int32_t pid, int32_t tid)
{
	put_signed(visitor, "pid", pid);
	put_signed(visitor, "tid", tid);
}

#endif

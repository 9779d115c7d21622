/* job_scope.c - see job_scope.h. Values are not looked through for variables again: a value that needs others
 * was filled when it was declared. So nothing goes round in circles. */
#include "job/job_scope.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_list.h"
#include "nearest.h"

void job_variables_free(struct job_variables *variables)
{
	for (size_t i = 0; i < variables->count; i++) {
		free(variables->value[i].name);
		free(variables->value[i].value);
	}
	free(variables->value);
	*variables = (struct job_variables){0};
}

static struct job_variable *find(const struct job_variables *variables, const char *name)
{
	for (size_t i = 0; variables && i < variables->count; i++)
		if (!strcmp(variables->value[i].name, name))
			return &variables->value[i];
	return NULL;
}

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (!isdigit((unsigned char)*text))
		while (isalnum((unsigned char)text[length]) || text[length] == '_')
			length++;
	return length;
}

static int add(struct job_variables *variables, const char *name, const char *value,
               struct option_error *error)
{
	struct job_variable *bigger, variable = {0};

	if (!*name || name_length(name) != strlen(name))
		return option_fail(error, "expected a name of letters, digits and _, found '%s'", name);
	bigger = job_grow(variables->value, variables->count, job_items_most, sizeof(*bigger), error);
	if (!bigger)
		return -1;
	variables->value = bigger;
	variable.name = job_copy(name, error);
	if (value)
		variable.value = job_copy(value, error);
	if (!variable.name || (value && !variable.value)) {
		free(variable.name);
		free(variable.value);
		return -1;
	}
	bigger[variables->count++] = variable;
	return 0;
}

int job_set_variable(struct job_variables *variables, const char *text, struct option_error *error)
{
	const char *equals = strchr(text, '=');
	char *name;
	int result;

	if (!equals)
		return option_fail(error, "expected KEY=VALUE, found '%s'", text);
	name = strndup(text, (size_t)(equals - text));
	if (!name)
		return option_fail(error, "out of memory");
	if (find(variables, name))
		result = option_fail(error, "%s is set twice", name);
	else
		result = add(variables, name, equals + 1, error);
	free(name);
	return result;
}

int job_scope_init(struct job_scope *scope, const struct job_variables *set)
{
	*scope = (struct job_scope){.set = set};
	scope->used = calloc(set ? set->count + 1 : 1, sizeof(*scope->used));
	return scope->used ? 0 : -1;
}

void job_scope_free(struct job_scope *scope)
{
	free(scope->used);
	job_variables_free(&scope->declared);
	job_texts_free(&scope->environment);
}

int job_scope_declare(struct job_scope *scope, const char *name, const char *value,
                      struct option_error *error)
{
	struct job_variable *there = find(&scope->declared, name);

	if (!there)
		return add(&scope->declared, name, value, error);
	if (value && !there->value)
		there->value = job_copy(value, error);
	return value && !there->value ? -1 : 0;
}

int job_scope_allow(struct job_scope *scope, const char *name, struct option_error *error)
{
	if (!*name || name_length(name) != strlen(name))
		return option_fail(error, "expected the name of an environment variable, found '%s'", name);
	return job_texts_add(&scope->environment, job_items_most, "the name", name, error);
}

static bool is_allowed(const struct job_scope *scope, const char *name)
{
	for (size_t i = 0; i < scope->environment.count; i++)
		if (!strcmp(scope->environment.value[i], name))
			return true;
	return false;
}

static int no_value(const struct job_scope *scope, const char *name, struct option_error *error)
{
	struct nearest nearest;

	if (find(&scope->declared, name))
		return option_fail(error, "${%s} has no value: set it with --set %s=VALUE", name, name);
	if (is_allowed(scope, name))
		return option_fail(error, "${%s} has no value: it is not in the environment", name);
	if (getenv(name))
		return option_fail(error,
		                   "${%s} is a variable of the environment: to use it, list it under "
		                   "'environment'",
		                   name);
	nearest_begin(&nearest, name);
	for (size_t i = 0; i < scope->declared.count; i++)
		nearest_offer(&nearest, scope->declared.value[i].name);
	for (size_t i = 0; i < scope->environment.count; i++)
		nearest_offer(&nearest, scope->environment.value[i]);
	if (nearest.best)
		return option_fail(error, "${%s} has no value; did you mean ${%s}?", name, nearest.best);
	return option_fail(error, "${%s} has no value: give it one under 'variables', or with --set", name);
}

static const char *look_up(struct job_scope *scope, const char *name, struct option_error *error)
{
	const struct job_variable *variable = find(scope->set, name);
	const char *value;

	if (variable) {
		scope->used[variable - scope->set->value] = true;
		return variable->value;
	}
	variable = find(&scope->declared, name);
	if (variable && variable->value)
		return variable->value;
	value = is_allowed(scope, name) ? getenv(name) : NULL;
	if (!value)
		no_value(scope, name, error);
	return value;
}

/* What stands behind "${"; *length is of all up to "}". NULL: told. */
static const char *reference(struct job_scope *scope, const char *text, size_t *length,
                             struct option_error *error)
{
	const char *value;
	char *name;

	*length = name_length(text);
	if (!*length || text[*length] != '}') {
		option_fail(error, "expected ${NAME}, found '${%.*s'; to have it as it is, write $${",
		            (int)strnlen(text, 20), text);
		return NULL;
	}
	name = strndup(text, (*length)++);
	if (!name) {
		option_fail(error, "out of memory");
		return NULL;
	}
	value = look_up(scope, name, error);
	free(name);
	return value;
}

struct filled {
	char *text;
	size_t used, size;
};

static int append(struct filled *to, const char *text, size_t length, struct option_error *error)
{
	if (to->used + length + 1 > to->size) {
		const size_t size = 2 * (to->used + length + 1);
		char *bigger = NULL;

		if (size > 2 * (size_t)job_text_most)
			return option_fail(error, "with its variables, it is longer than %d bytes",
			                   job_text_most);
		bigger = realloc(to->text, size);
		if (!bigger)
			return option_fail(error, "out of memory");
		to->text = bigger;
		to->size = size;
	}
	memcpy(to->text + to->used, text, length);
	to->used += length;
	to->text[to->used] = '\0';
	return 0;
}

char *job_scope_fill(struct job_scope *scope, const char *text, struct option_error *error)
{
	struct filled filled = {0};
	int result = append(&filled, "", 0, error);

	while (!result && *text) {
		const char *dollar = strstr(text, "${"), *value;
		size_t length = dollar ? (size_t)(dollar - text) : strlen(text);

		if (dollar && dollar > text && dollar[-1] == '$') {
			result = append(&filled, text, length - 1, error);
			result = result ? result : append(&filled, "${", 2, error);
			text = dollar + 2;
			continue;
		}
		result = append(&filled, text, length, error);
		text += length;
		if (result || !dollar)
			continue;
		value = reference(scope, text + 2, &length, error);
		text += 2 + length;
		result = value ? append(&filled, value, strlen(value), error) : -1;
	}
	if (!result)
		return filled.text;
	free(filled.text);
	return NULL;
}

int job_scope_check(const struct job_scope *scope, struct option_error *error)
{
	struct nearest nearest;

	for (size_t i = 0; scope->set && i < scope->set->count; i++) {
		const char *name = scope->set->value[i].name;

		if (scope->used[i] || find(&scope->declared, name))
			continue;
		nearest_begin(&nearest, name);
		for (size_t j = 0; j < scope->declared.count; j++)
			nearest_offer(&nearest, scope->declared.value[j].name);
		if (nearest.best)
			return option_fail(error,
			                   "--set %s: the job has no such variable; did you mean '%s'?", name,
			                   nearest.best);
		return option_fail(error, "--set %s: the job has no such variable", name);
	}
	return 0;
}

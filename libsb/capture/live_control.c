/* live_control.c - see live_control.h. */
#include "capture/live_control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct sb_error *err, const char *fifo, const char *why)
{
	return sb_error_set(err, -sbe_io, fifo, UINT64_MAX, "it cannot be listened to: %s", why);
}

static int open_fifo(struct live_control *control, const char *fifo, struct sb_error *err)
{
	struct stat info;

	control->made_fifo = mkfifo(fifo, 0600) == 0;
	if (!control->made_fifo && errno != EEXIST)
		return fail(err, fifo, strerror(errno));
	control->fifo = fifo;
	control->source[1].fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (control->source[1].fd < 0)
		return fail(err, fifo, strerror(errno));
	if (fstat(control->source[1].fd, &info) < 0 || !S_ISFIFO(info.st_mode))
		return fail(err, fifo, "it is no FIFO");
	control->writer = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return control->writer < 0 ? fail(err, fifo, strerror(errno)) : 0;
}

int live_control_open(struct live_control *control, int fd, const char *fifo, struct sb_error *err)
{
	*control = (struct live_control){.source = {{.fd = fd}, {.fd = -1}}, .writer = -1};
	return fifo ? open_fifo(control, fifo, err) : 0;
}

void live_control_close(struct live_control *control)
{
	if (control->source[1].fd >= 0)
		close(control->source[1].fd);
	if (control->writer >= 0)
		close(control->writer);
	if (control->made_fifo)
		unlink(control->fifo);
}

static enum live_order order_of(const char *line, size_t size)
{
	static const struct {
		const char *name;
		enum live_order order;
	} orders[] = {{"start", live_order_start},
	              {"stop", live_order_stop},
	              {"snapshot", live_order_snapshot},
	              {"quit", live_order_quit}};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); ++i)
		if (strlen(orders[i].name) == size && !memcmp(orders[i].name, line, size))
			return orders[i].order;
	return live_order_none;
}

static int is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLIN | POLLHUP));
}

/* One byte at a time: lines are short, and rare. */
static enum live_order next_of(struct live_control *control, int i, char unknown[live_control_line])
{
	char *line = control->source[i].line;
	enum live_order order;
	char byte;

	while (is_readable(control->source[i].fd)) {
		if (read(control->source[i].fd, &byte, 1) != 1) {
			if (i == 0)
				control->source[i].fd = -1; /* it has ended; it is not ours to close */
			break;
		}
		if (byte != '\n') {
			if (control->source[i].size < live_control_line - 1)
				line[control->source[i].size++] = byte;
			continue;
		}
		line[control->source[i].size] = '\0';
		order = order_of(line, control->source[i].size);
		control->source[i].size = 0;
		if (order == live_order_none)
			strcpy(unknown, line);
		return order;
	}
	return live_order_none;
}

enum live_order live_control_next(struct live_control *control, char unknown[live_control_line])
{
	enum live_order order = live_order_none;

	unknown[0] = '\0';
	for (int i = 0; i < live_control_sources && order == live_order_none && !unknown[0]; ++i)
		order = next_of(control, i, unknown);
	return order;
}

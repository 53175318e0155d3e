// SPDX-License-Identifier: GPL-2.0
/*
 * A run. It reads the plan from the file `plan.toml` in the current folder of the host machine, creates hosts and flows, waits for
 * the end of the run, and ends the kernel. It writes the log to the file `log`, the headers of packets to `headers` if the plan
 * requests them, and errors to `error`. There are no user programs.
 */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <os.h>
#include "sojourn.h"

#define START (2 * NSEC_PER_SEC)           /* start of the run, in the kernel's time */
#define FULL (1 << 20)                     /* bytes of log per write */

struct guest *guest;
struct flow *flows;
u32 flow_count;
static int files[] = { [LOG] = -1, [HEADERS] = -1 };
static const char *const names[] = { [LOG] = "log", [HEADERS] = "headers" };

u64 sojourn_now(void)
{
	return ktime_get_ns() - START;
}

void sojourn_sleep_until(u64 time)
{
	ktime_t until = ns_to_ktime(START + time);

	while (ktime_before(ktime_get(), until)) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
}

static void write_all(int file, const void *bytes, size_t length)
{
	while (length) {
		int written = os_write_file(file, bytes, min_t(size_t, length, 1 << 20));

		if (written <= 0)
			break;
		bytes += written;
		length -= written;
	}
}

void sojourn_stop(const char *format, ...)
{
	char text[256];
	va_list values;
	int file = os_open_file("error", of_trunc(of_create(of_write(OPENFLAGS()))), 0644);

	va_start(values, format);
	write_all(file, text, vscnprintf(text, sizeof(text), format, values));
	va_end(values);
	machine_halt();
	unreachable();
}

void *sojourn_alloc(size_t size, size_t align)
{
	/* Must not sleep: another thread could call the network meanwhile. */
	gfp_t flags = guest ? GFP_ATOMIC : GFP_KERNEL;
	void *memory = size <= PAGE_SIZE ? kmalloc(size, GFP_ATOMIC) : kvmalloc(size, flags);

	/* Rust encodes larger alignments in the size. */
	static_assert(ARCH_KMALLOC_MINALIGN >= 8);
	if (!IS_ALIGNED((unsigned long)memory, align))
		sojourn_stop("memory: expected an alignment of %zu bytes for %zu, got %lx", align, size, (unsigned long)memory);
	return memory;
}

void sojourn_free(void *memory)
{
	if (is_vmalloc_addr(memory))
		vfree_atomic(memory);
	else
		kfree(memory);
}

__noreturn void sojourn_panic(const char *text, size_t length)
{
	sojourn_stop("%.*s", (int)length, text);
}

/* Referenced by Rust's core library; nothing unwinds here. */
void rust_eh_personality(void)
{
}

/* Opens a file for writing. */
static int open_new(const char *name)
{
	int file = os_open_file(name, of_trunc(of_create(of_write(OPENFLAGS()))), 0644);

	if (file < 0)
		sojourn_stop("%s: error %d", name, file);
	return file;
}

/* Appends to a file. A full disk ends the run. */
void sojourn_store(u32 file, const u8 *bytes, size_t length)
{
	while (length) {
		int written = os_write_file(files[file], bytes, min_t(size_t, length, FULL));

		if (written <= 0)
			sojourn_stop("%s: expected room on the disk, got error %d", names[file], written);
		bytes += written;
		length -= written;
	}
}

static u8 *read_plan(size_t *length)
{
	unsigned long long size;
	int file = os_open_file("plan.toml", of_read(OPENFLAGS()), 0);
	u8 *bytes;

	if (file < 0 || os_file_size("plan.toml", &size))
		sojourn_stop("plan.toml: expected a file");
	bytes = vmalloc(size + 1);
	for (*length = 0; bytes && *length < size;) {
		int got = os_read_file(file, bytes + *length, min_t(size_t, size - *length, 1 << 20));

		if (got <= 0)
			sojourn_stop("plan.toml: error %d", got);
		*length += got;
	}
	os_close_file(file);
	if (!bytes)
		sojourn_stop("plan.toml: no memory");
	return bytes;
}

static void set_up(void)
{
	char error[256];
	size_t length;
	u8 *plan = read_plan(&length);
	u32 number, mtu = 576;

	guest = sojourn_guest(plan, length, error, sizeof(error));
	if (!guest)
		sojourn_stop("%s", error);
	vfree(plan);
	flow_count = sojourn_flows(guest);
	flows = kvcalloc(flow_count, sizeof(*flows), GFP_KERNEL);
	if (!flows)
		sojourn_stop("no memory for %u flows", flow_count);
	for (number = 0; number < flow_count; number++) {
		flows[number].number = number;
		INIT_LIST_HEAD(&flows[number].connections);
		init_waitqueue_head(&flows[number].changed);
		sojourn_flow(guest, number, &flows[number].plan);
		mtu = max(mtu, flows[number].plan.packet);
	}
	if (sojourn_make_hosts(sojourn_hosts(guest), mtu))
		sojourn_stop("no memory for %u hosts", sojourn_hosts(guest));
}

static int __init sojourn_run(void)
{
	u64 step = 100 * NSEC_PER_MSEC, until = 0;
	size_t file;

	for (file = 0; file < ARRAY_SIZE(files); file++)
		files[file] = open_new(names[file]);
	set_up();
	if (sojourn_now() < (u64)S64_MAX)
		sojourn_stop("the hosts were not ready at the start of the run");
	if (sojourn_start_flows())
		sojourn_stop("no memory for %u flows", flow_count);
	sojourn_make_noise();
	while (until < sojourn_duration(guest)) {
		until = min(until + step, sojourn_duration(guest));
		sojourn_sleep_until(until);
		sojourn_store_logs(guest, FULL);
	}
	sojourn_end(guest, sojourn_duration(guest));
	sojourn_queues_told();
	sojourn_store_logs(guest, 0);
	for (file = 0; file < ARRAY_SIZE(files); file++)
		os_close_file(files[file]);
	machine_halt();
	return 0;
}
late_initcall(sojourn_run);

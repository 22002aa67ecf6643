/* Makes system calls on files below a folder fail at random: cc -shared -fPIC, then LD_PRELOAD.

Nothing happens before `arm`. The same seed gives the same draws; threads take them in turn. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];
static uint64_t state;
static unsigned per_million;
static unsigned long injected;

void arm(const char* path, uint64_t seed, unsigned rate) {
  snprintf(folder, sizeof folder, "%s", path);
  state = seed * 0x9E3779B97F4A7C15u + 1;
  injected = 0;
  per_million = rate;
}

unsigned long disarm(void) {
  per_million = 0;
  return injected;
}

static unsigned draw(void) {  /* splitmix64 */
  uint64_t z = __atomic_add_fetch(&state, 0x9E3779B97F4A7C15u, __ATOMIC_RELAXED);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  return (unsigned)(((z ^ (z >> 27)) * 0x94D049BB133111EBu) >> 33);
}

static int below(const char* path) {
  return per_million && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int below_fd(int fd) {
  char link[64], path[PATH_MAX];
  if (!per_million) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return below(path);
}

/* Returns whether a call fails, with errno set. */
static int fails(int is_below, int may_interrupt) {
  static const int errors[] = {ENOSPC, EIO, EINTR};
  if (!is_below || draw() % 1000000 >= per_million) return 0;
  errno = errors[draw() % (may_interrupt ? 3 : 2)];
  __atomic_add_fetch(&injected, 1, __ATOMIC_RELAXED);
  return 1;
}

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* Half of the failing reads and writes are short instead. */
#define TRANSFER(name, fd, count, ...) \
  if (count && fails(below_fd(fd), 1)) { \
    if (count < 2 || draw() % 2) return -1; \
    count /= 2; \
  } \
  return real(__VA_ARGS__)

ssize_t write(int fd, const void* data, size_t count) {
  REAL(ssize_t, write, int, const void*, size_t);
  TRANSFER(write, fd, count, fd, data, count);
}

ssize_t pwrite64(int fd, const void* data, size_t count, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void*, size_t, off64_t);
  TRANSFER(pwrite64, fd, count, fd, data, count, offset);
}

ssize_t pwrite(int fd, const void* data, size_t count, off_t offset) {
  REAL(ssize_t, pwrite, int, const void*, size_t, off_t);
  TRANSFER(pwrite, fd, count, fd, data, count, offset);
}

/* TensorFlow writes by FILE, whose own system calls cannot be replaced. */
size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  REAL(size_t, fwrite, const void*, size_t, size_t, FILE*);
  if (per_million && count && fails(below_fd(fileno(file)), 0)) return count / 2;
  return real(data, size, count, file);
}

int fflush(FILE* file) {
  REAL(int, fflush, FILE*);
  if (file && per_million && fails(below_fd(fileno(file)), 0)) return EOF;
  return real(file);
}

int fsync(int fd) {
  REAL(int, fsync, int);
  return fails(below_fd(fd), 1) ? -1 : real(fd);
}

int ftruncate64(int fd, off64_t length) {
  REAL(int, ftruncate64, int, off64_t);
  return fails(below_fd(fd), 1) ? -1 : real(fd, length);
}

int rename(const char* from, const char* to) {
  REAL(int, rename, const char*, const char*);
  return fails(below(to), 0) ? -1 : real(from, to);
}

int mkdir(const char* path, mode_t mode) {
  REAL(int, mkdir, const char*, mode_t);
  return fails(below(path), 0) ? -1 : real(path, mode);
}

int unlink(const char* path) {
  REAL(int, unlink, const char*);
  return fails(below(path), 0) ? -1 : real(path);
}

static mode_t mode_of(int flags, va_list more) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open64(const char* path, int flags, ...) {
  REAL(int, open64, const char*, int, ...);
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails(below(path), 1) ? -1 : real(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  REAL(int, open, const char*, int, ...);
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails(below(path), 1) ? -1 : real(path, flags, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  REAL(FILE*, fopen64, const char*, const char*);
  return fails(below(path), 0) ? NULL : real(path, mode);
}

FILE* fopen(const char* path, const char* mode) {
  REAL(FILE*, fopen, const char*, const char*);
  return fails(below(path), 0) ? NULL : real(path, mode);
}

ssize_t read(int fd, void* data, size_t count) {
  REAL(ssize_t, read, int, void*, size_t);
  TRANSFER(read, fd, count, fd, data, count);
}

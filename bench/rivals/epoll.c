// A bare server of event streams on epoll, in one thread: what the kernel alone takes for a frame. It parses no more of
// a request than the suite sends. GET opens a stream, POST sends its body to all streams.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MAX_CONNECTIONS 65536
#define MAX_REQUEST (32 * 1024 * 1024)
#define EVENTS 1024

// Frames form a list. The newest has a reference, and so has a frame behind another, or one that a stream is sent.
struct frame {
  struct frame *next;
  size_t length;
  int references;
  char bytes[];
};

struct connection {
  int is_open, is_stream;
  char *request;
  size_t length, capacity;
  struct frame *frame;
  size_t sent;
};

static struct connection connections[MAX_CONNECTIONS];
static struct frame *newest;
static int poll_fd, highest_fd;

static void *or_end(void *memory) {
  if (memory == NULL) {
    perror("memory");
    exit(1);
  }
  return memory;
}

static void release(struct frame *frame) {
  while (frame != NULL && --frame->references == 0) {
    struct frame *next = frame->next;
    free(frame);
    frame = next;
  }
}

static void end(int fd) {
  struct connection *connection = &connections[fd];
  free(connection->request);
  release(connection->frame);
  memset(connection, 0, sizeof *connection);
  close(fd);
}

static void watch(int fd, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  epoll_ctl(poll_fd, operation, fd, &event);
}

// Sends what the socket takes; the rest waits until it takes more.
static void send_frames(int fd) {
  struct connection *connection = &connections[fd];
  while (connection->frame != NULL) {
    struct frame *frame = connection->frame;
    ssize_t sent = write(fd, frame->bytes + connection->sent, frame->length - connection->sent);
    if (sent < 0 && errno != EAGAIN) return end(fd);
    if (sent > 0) connection->sent += sent;
    if (connection->sent < frame->length) {
      if (sent < 0) return watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
      continue;
    }
    connection->frame = frame->next;
    if (frame->next != NULL) frame->next->references++;
    connection->sent = 0;
    release(frame);
  }
}

static void publish(const char *body, size_t length) {
  struct frame *frame = or_end(malloc(sizeof *frame + length + 8));
  frame->next = NULL;
  frame->length = length + 8;
  frame->references = 1;
  memcpy(frame->bytes, "data: ", 6);
  memcpy(frame->bytes + 6, body, length);
  memcpy(frame->bytes + 6 + length, "\n\n", 2);
  if (newest != NULL) {
    newest->next = frame;
    frame->references++;
    release(newest);
  }
  newest = frame;
  for (int fd = 0; fd <= highest_fd; fd++) {
    if (!connections[fd].is_stream || connections[fd].frame != NULL) continue;
    frame->references++;
    connections[fd].frame = frame;
    send_frames(fd);
  }
}

static void answer(int fd, const char *text) {
  size_t length = strlen(text);
  if (write(fd, text, length) != (ssize_t)length) end(fd);
}

// Handles a request that has arrived whole, and forgets it.
static void handle(int fd) {
  struct connection *connection = &connections[fd];
  char *head_end = memmem(connection->request, connection->length, "\r\n\r\n", 4);
  if (head_end == NULL) return;
  size_t head = head_end + 4 - connection->request;
  if (memcmp(connection->request, "GET ", 4) == 0) {
    connection->is_stream = 1;
    connection->length = 0;
    free(connection->request);
    connection->request = NULL;
    connection->capacity = 0;
    return answer(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n");
  }
  *head_end = '\0';
  char *field = strcasestr(connection->request, "\r\ncontent-length:");
  size_t length = field == NULL ? 0 : strtoull(field + 17, NULL, 10);
  *head_end = '\r';
  if (connection->length < head + length) return;
  publish(connection->request + head, length);
  connection->length = 0;
  answer(fd, "HTTP/1.1 204 No Content\r\n\r\n");
}

static void receive(int fd) {
  struct connection *connection = &connections[fd];
  for (;;) {
    if (connection->capacity - connection->length < 4096) {
      connection->capacity = connection->capacity == 0 ? 8192 : connection->capacity * 2;
      if (connection->capacity > MAX_REQUEST) return end(fd);
      connection->request = or_end(realloc(connection->request, connection->capacity));
    }
    ssize_t got =
        read(fd, connection->request + connection->length, connection->capacity - connection->length);
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) return end(fd);
    // A stream sends nothing that counts.
    if (!connection->is_stream) connection->length += got;
  }
  if (connection->length > 0) handle(fd);
}

static void take_connections(int listening) {
  for (;;) {
    int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    if (fd >= MAX_CONNECTIONS) {
      close(fd);
      continue;
    }
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connections[fd].is_open = 1;
    if (fd > highest_fd) highest_fd = fd;
    watch(fd, EPOLL_CTL_ADD, EPOLLIN);
  }
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: epoll PORT\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int one = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 || listen(listening, 19900) != 0) {
    perror("listen");
    return 1;
  }
  poll_fd = epoll_create1(0);
  watch(listening, EPOLL_CTL_ADD, EPOLLIN);
  struct epoll_event events[EVENTS];
  for (;;) {
    int ready = epoll_wait(poll_fd, events, EVENTS, -1);
    for (int i = 0; i < ready; i++) {
      int fd = events[i].data.fd;
      if (fd == listening) take_connections(fd);
      else if (connections[fd].is_open && events[i].events & EPOLLOUT) {
        watch(fd, EPOLL_CTL_MOD, EPOLLIN);
        send_frames(fd);
      } else if (connections[fd].is_open) receive(fd);
    }
  }
}

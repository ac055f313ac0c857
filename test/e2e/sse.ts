// A real SSE client for tests: collects frames with their ids and waits for the one a test names.

export interface SseFrame {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
  readonly data: any;
}

export class SseClient {
  readonly frames: SseFrame[] = [];
  readonly comments: string[] = [];
  ended = false;
  status = 0;
  #abort = new AbortController();
  #waiting = new Set<() => void>();

  static async open(url: string, headers: { [name: string]: string }): Promise<SseClient> {
    const client = new SseClient();
    const response = await fetch(url, { headers, signal: client.#abort.signal });
    client.status = response.status;
    if (response.status !== 200 || !response.body) {
      client.ended = true;
      await response.text();
      return client;
    }
    void client.#read(response.body);
    return client;
  }

  /** The first frame of this type after `from`; fails after `ms`. */
  async next(event: string, from = 0, ms = 5000): Promise<SseFrame> {
    return this.#until(
      () => this.frames.slice(from).find((frame) => frame.event === event),
      `frame ${event}`,
      ms,
    );
  }

  /** Resolves when another frame has come; fails after `ms`. */
  async more(ms = 5000): Promise<void> {
    const count = this.frames.length;
    await this.#until(() => (this.frames.length > count ? true : undefined), 'further frame', ms);
  }

  async end(ms = 5000): Promise<void> {
    await this.#until(() => (this.ended ? true : undefined), 'the end of the stream', ms);
  }

  close(): void {
    this.#abort.abort();
  }

  async #until<T>(find: () => T | undefined, what: string, ms: number): Promise<T> {
    const deadline = AbortSignal.timeout(ms);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (deadline.aborted)
        throw new Error(`no ${what} within ${ms} ms; got ${this.frames.map((f) => f.event).join(', ')}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          deadline.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        deadline.addEventListener('abort', wake);
      });
    }
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let buffer = '';
    try {
      for await (const chunk of body) {
        buffer += decoder.decode(chunk, { stream: true });
        const blocks = buffer.split('\n\n');
        buffer = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
        for (const wake of [...this.#waiting]) wake();
      }
    } catch {
      // an aborted or cut stream ends like any other
    }
    this.ended = true;
    for (const wake of [...this.#waiting]) wake();
  }

  #take(block: string): void {
    let id = '';
    let event = '';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments.push(line);
      else if (line.startsWith('id:')) id = line.slice(3).trim();
      else if (line.startsWith('event:')) event = line.slice(6).trim();
      else if (line.startsWith('data:')) data += line.slice(5).trim();
    }
    if (event === '' && data === '') return;
    this.frames.push({ id, event: event || 'message', data: data === '' ? null : JSON.parse(data) });
  }
}

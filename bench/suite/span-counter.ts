// A collector of spans that counts them and keeps nothing.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const count = (text: string, part: string): number => text.split(part).length - 1;

export class SpanCounter {
  spans = 0;
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      // Each span has one; nothing else has.
      this.spans += count(Buffer.concat(parts).toString('latin1'), '"spanId":');
      response.setHeader('Content-Type', 'application/json');
      response.end('{}');
    });
  });

  /** @returns its address, for OTEL_EXPORTER_OTLP_ENDPOINT */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

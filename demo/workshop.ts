// Tools and data of the demo's agents: files in a temporary folder, two small commands, and a web server on loopback.
// Nothing is simulated.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** A tool as an agent calls it. */
export type Tool = (args: { readonly [name: string]: string }) => Promise<unknown>;

export class Workshop {
  /** The folder the agents may work in; paths they name are relative to it. */
  readonly folder: string;
  readonly #server: Server;
  /** Pages that were published, as the web server got them. */
  readonly published: string[] = [];

  private constructor(folder: string) {
    this.folder = folder;
    this.#server = createServer((request, response) => {
      const answer = (text: string): void => void response.end(text);
      if (request.method !== 'POST') return answer(`the page ${request.url}`);
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        this.published.push(Buffer.concat(parts).toString());
        answer('published');
      });
    });
  }

  /** Makes the files below `parent` and starts the web server. */
  static async open(parent: string): Promise<Workshop> {
    const folder = join(await realpath(parent), 'workspace');
    await mkdir(folder);
    await writeFile(join(folder, 'notes.txt'), 'release notes\nnothing broke\n');
    await writeFile(join(folder, '.env'), 'DATABASE_PASSWORD=correct-horse\n');
    await writeFile(join(folder, 'customers.json'), '{"ann":{"name":"Ann","phone":"+44 20 7946 0018"}}\n');
    const workshop = new Workshop(folder);
    workshop.#server.listen(0, '127.0.0.1');
    await once(workshop.#server, 'listening');
    return workshop;
  }

  /** Of the web server. */
  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** The tools by name. They trust their arguments: contracts are what stands before them. */
  get tools(): { readonly [name: string]: Tool } {
    const at = (path: string | undefined): string => resolve(this.folder, path ?? '');
    return {
      read_file: async ({ path }) => readFile(at(path), 'utf8'),
      write_file: async ({ path, text }) => {
        await writeFile(at(path), text ?? '');
        return `${text?.length ?? 0} characters written`;
      },
      run_command: async ({ command }) => {
        const [program = '', ...rest] = (command ?? '').split(' ');
        return (await promisify(execFile)(program, rest, { cwd: this.folder, timeout: 5000 })).stdout.trim();
      },
      find_customer: async ({ name }) => JSON.parse(await readFile(at('customers.json'), 'utf8'))[name ?? ''],
      fetch_page: async ({ page }) => (await fetch(`${this.url}/${page}`)).text(),
      publish: async ({ page }) => {
        const body = await readFile(at(page), 'utf8');
        return (await fetch(`${this.url}/${page}`, { method: 'POST', body })).text();
      },
    };
  }
}

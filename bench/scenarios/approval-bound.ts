// The bound of approvals, without a hub: a durable write of one row, then one line to a reader on another connection of
// the loopback interface.
import { mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import Libsql from 'libsql';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { type OpenLoop, type OpenLoopResult, runOpenLoop } from '../suite/open-loop.ts';

export const writeAndHopText = 'one durable row in SQLite, then one line over loopback';

interface Order extends OpenLoop {
  readonly folder: string;
  /** Rows that a call writes, each in a commit of its own. */
  readonly writes: number;
}

export class WriteAndHop extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'bound');
  }

  measure(order: Order): Promise<OpenLoopResult> {
    return this.request(order);
  }
}

function openTable(folder: string) {
  const db = new Libsql(join(folder, 'rows.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE approvals (id INTEGER PRIMARY KEY, status TEXT)');
  return {
    insert: db.prepare("INSERT INTO approvals (status) VALUES ('approved')"),
    close: () => db.close(),
  };
}

/** A connection whose other end calls back for each number that is written. */
async function openHop(onNumber: (n: number) => void) {
  const server = net.createServer((socket) => {
    let rest = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onNumber(Number(line));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return {
    send: (n: number) => socket.write(`${n}\n`),
    close() {
      socket.destroy();
      server.close();
    },
  };
}

async function run(order: Order): Promise<OpenLoopResult> {
  const folder = mkdtempSync(join(order.folder, 'bound-'));
  const waiting = new Map<number, () => void>();
  const table = openTable(folder);
  const hop = await openHop((n) => {
    waiting.get(n)?.();
    waiting.delete(n);
  });
  try {
    return await runOpenLoop(order, async (n) => {
      for (let i = 0; i < order.writes; i++) table.insert.run([]);
      const arrival = new Promise<void>((resolve) => void waiting.set(n, resolve));
      hop.send(n);
      await arrival;
    });
  } finally {
    hop.close();
    table.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

serveOrders(import.meta.url, run);

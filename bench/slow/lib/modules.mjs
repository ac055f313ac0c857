// The driver and the HTTP server of the hub that is measured, which may be of another checkout.
import { createRequire } from 'node:module';
import { requireFunction } from './counters.mjs';

const mainFile = process.env.REEVE_BENCH_HUB;
if (!mainFile) throw new Error('REEVE_BENCH_HUB is not set: bench/slow runs in hubs of the suite alone.');
const load = createRequire(mainFile);

/** @returns the prototypes of the driver's databases and statements */
export function driverPrototypes() {
  const Database = load('libsql');
  for (const name of ['prepare', 'exec']) requireFunction(Database.prototype, name, 'libsql Database');
  const db = new Database(':memory:');
  const statement = Object.getPrototypeOf(db.prepare('SELECT 1'));
  db.close();
  for (const name of ['run', 'get', 'iterate']) requireFunction(statement, name, 'libsql Statement');
  return { database: Database.prototype, statement };
}

/** Calls `wrap` once with the prototype of the native server's responses, at the first request. */
export function onResponsePrototype(wrap) {
  const server = load('uWebSockets.js');
  const makeApp = requireFunction(server, 'App', 'uWebSockets.js');
  let isWrapped = false;
  server.App = (...options) => {
    const app = makeApp(...options);
    const any = requireFunction(app, 'any', 'uWebSockets.js App').bind(app);
    app.any = (pattern, handle) =>
      any(pattern, (response, request) => {
        if (!isWrapped) {
          isWrapped = true;
          wrap(Object.getPrototypeOf(response));
        }
        handle(response, request);
      });
    return app;
  };
}

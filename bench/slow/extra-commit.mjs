// One more durable commit after each one of a connection that writes.
import { add } from './lib/counters.mjs';
import { driverPrototypes } from './lib/modules.mjs';

const { database } = driverPrototypes();
// Wraps the counting one, so that the extra commit is counted as well.
const { exec } = database;
const writers = new WeakSet();
database.exec = function (sql) {
  exec.call(this, sql);
  if (/^BEGIN IMMEDIATE\b/.test(sql)) writers.add(this);
  if (!/^COMMIT\b/.test(sql) || !writers.has(this)) return;
  exec.call(this, 'BEGIN IMMEDIATE');
  exec.call(this, 'CREATE TABLE IF NOT EXISTS bench_slow (n INTEGER PRIMARY KEY)');
  exec.call(this, 'INSERT INTO bench_slow DEFAULT VALUES');
  exec.call(this, 'COMMIT');
  add('slow_downs');
};

// One more statement for each one that writes.
import { add } from './lib/counters.mjs';
import { driverPrototypes } from './lib/modules.mjs';

const { database, statement } = driverPrototypes();
const { prepare } = database;
const { run } = statement;
const extras = new WeakMap();
database.prepare = function (sql) {
  const prepared = prepare.call(this, sql);
  if (!extras.has(this)) extras.set(this, prepare.call(this, 'SELECT 1'));
  extras.set(prepared, extras.get(this));
  return prepared;
};
statement.run = function (...values) {
  const result = run.apply(this, values);
  extras.get(this)?.get();
  add('slow_downs');
  return result;
};

// Dies within a step of the schema: after it filled a row, before its statements are committed.
import { Database } from '../../../adapters/sqlite/database.ts';
import { migrate, schemaSteps } from '../../../adapters/sqlite/schema/index.ts';

const db = new Database(process.argv[2] ?? '');
const fill = () => db.exec(`INSERT INTO settings VALUES ('t', 'filled', '"once"', 0, 'test')`);
const { exec } = db;
db.exec = (statements) => {
  exec.call(db, statements);
  if (statements.includes('1002')) process.kill(process.pid, 'SIGKILL');
};
migrate(db, [
  ...schemaSteps,
  { from: 1001, to: 1002, fill, statements: 'ALTER TABLE rules ADD COLUMN note TEXT;' },
]);

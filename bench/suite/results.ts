// The form of a results file. `bench/results.schema.json` is made from it:
// node --import tsx bench/suite/write-schema.ts
import { z } from 'zod';

export const resultsSchemaName = 'reeve-bench/1';

const count = z.int().nonnegative();
const amount = z.number().nonnegative();

const histogramSchema = z.strictObject({
  hdr: z.string().describe('HdrHistogram V2, compressed, base64; values in microseconds'),
  count,
  p50: amount.describe('in the unit of the figure, as the other percentiles'),
  p90: amount,
  p99: amount,
  p999: amount,
  max: amount,
});

const boundSchema = z.strictObject({ what: z.string(), rounds: z.array(amount), median: amount });

const comparedValue = z.enum(['ratio', 'value']);
const targetSchema = z.union([
  z.strictObject({ at_most: amount, of: comparedValue }),
  z.strictObject({ at_least: amount, of: comparedValue }),
]);

/** JSON has no infinity. */
const share = z.number().nullable().describe('null: infinite, from 0 to more');

const comparisonSchema = z.strictObject({
  word: z.enum(['better', 'worse', 'same', 'unclear']),
  reason: z.string().nullable().describe('of the word unclear'),
  change: z
    .strictObject({ median: share, low: share, high: share })
    .nullable()
    .describe('share by which the medians differ, and its 95 % bootstrap interval; null: not compared'),
});

const figureSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_.]*$/)
    .describe('stable from release to release'),
  what: z.string(),
  unit: z.string(),
  better: z.enum(['lower', 'higher']),
  rounds: z.array(amount).describe('empty where the figure could not be measured'),
  median: amount.nullable(),
  spread: amount.nullable().describe('(largest − smallest) ÷ median'),
  bound: boundSchema.nullable().describe('null also where the bound could not be measured'),
  ratio: amount.nullable().describe('median ÷ median of the bound'),
  target: targetSchema.nullable(),
  verdict: z.enum(['met', 'missed', 'no_verdict', 'no_target']),
  histogram: histogramSchema.nullable(),
  comparison: comparisonSchema
    .optional()
    .describe('of the guard alone: this tree beside the base, whose rounds are those of the bound'),
});

const rivalSchema = z.union([
  z.strictObject({ name: z.string(), version: z.string(), figures: z.array(figureSchema) }),
  z.strictObject({ name: z.string(), absent: z.string() }),
]);

const loadSchema = z.strictObject({
  hub_cores: amount.nullable(),
  client_cores: amount.nullable(),
  other_cores: amount.nullable().describe('cores that neither the hub nor the clients used'),
  hub_rss_bytes: count.nullable(),
});

const scenarioSchema = z.strictObject({
  name: z.string(),
  parameters: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  skipped: z.string().nullable().describe('the reason, if the scenario did not run'),
  limited_by: z.enum(['hub', 'client', 'others', 'none']),
  load: loadSchema,
  figures: z.array(figureSchema),
  rivals: z.array(rivalSchema),
});

const machineSchema = z.strictObject({
  cpus: count,
  cpu_model: z.string(),
  memory_bytes: count,
  kernel: z.string(),
  clock: z.string().nullable().describe('clock source of the kernel'),
  fd_limit: count.nullable(),
  busy_before: amount.nullable().describe('cores in use in the second before the first round'),
});

export const resultsSchema = z
  .strictObject({
    schema: z.literal(resultsSchemaName),
    started_at: z.string().describe('ISO 8601'),
    seconds: amount.describe('length of the whole run'),
    command: z.array(z.string()),
    seed: count,
    commit: z.strictObject({ sha: z.string().nullable(), dirty: z.boolean().nullable() }),
    versions: z.record(z.string(), z.string()).describe('reeve, node, sqlite and further parts'),
    machine: machineSchema,
    scenarios: z.array(scenarioSchema),
  })
  .describe('Results of the benchmark suite');

export type Results = z.infer<typeof resultsSchema>;
export type Machine = z.infer<typeof machineSchema>;
export type Scenario = z.infer<typeof scenarioSchema>;
export type Load = z.infer<typeof loadSchema>;
export type RivalResult = z.infer<typeof rivalSchema>;
export type Figure = z.infer<typeof figureSchema>;
export type Histogram = z.infer<typeof histogramSchema>;
export type Target = z.infer<typeof targetSchema>;

/** The text of `bench/results.schema.json`. */
export const resultsSchemaText = (): string => `${JSON.stringify(z.toJSONSchema(resultsSchema), null, 2)}\n`;

/**
 * Reads the text of a results file.
 * @throws Error with a reason for a text that is not JSON, has another schema or breaks this one
 */
export function parseResults(text: string): Results {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('The file is not JSON. Pass a file that --json wrote.');
  }
  const { schema } = (value ?? {}) as { readonly schema?: unknown };
  if (schema !== resultsSchemaName) {
    const name = typeof schema === 'string' ? schema : 'none';
    throw new Error(
      `The schema of the file is ${name}, not ${resultsSchemaName}. Measure again with this suite.`,
    );
  }
  const result = resultsSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Error(`The file breaks its schema at ${issue?.path.join('.')}: ${issue?.message}`);
}

/** @param digits of the commit's id. Default: all */
export const describeCommit = ({ sha, dirty }: Results['commit'], digits?: number): string =>
  `${sha?.slice(0, digits) ?? 'unknown'}${dirty === true ? ', with changes' : ''}`;

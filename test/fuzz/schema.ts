// Values that fit a JSON Schema (as zod writes it from a route's declaration), and values that nearly do. Knows no
// route.
import {
  agentId,
  definition,
  glob,
  instant,
  json,
  name,
  object,
  type Pen,
  text,
  uuid,
  yaml,
} from './material.ts';

export interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly propertyNames?: JsonSchema;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Writer extends Pen {
  /**
   * A value that fits a field of this name: of things that exist, credentials and the like. Undefined: none is known.
   */
  known(field: string): unknown;
  /** Path parameters that fit together, of one thing of this resource that exists. */
  thing(tag: string): { readonly [param: string]: string };
}

/** Bytes of an object of any content. */
const smallObject = 400;
const largeObject = 900_000;
const usualText = 4000;

/** A value that fits. @param field the name of the field that it is for */
export function fitting(writer: Writer, schema: JsonSchema, field = ''): unknown {
  const { random } = writer;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  if (schema.anyOf) return fitting(writer, random.pick(schema.anyOf), field);
  switch (schema.type) {
    case 'string':
      return fittingText(writer, schema, field);
    case 'integer':
    case 'number':
      return fittingNumber(writer, schema);
    case 'boolean':
      return random.next() < 0.5;
    case 'null':
      return null;
    case 'array':
      return fittingList(writer, schema, field);
    case 'object':
      return fittingObject(writer, schema, field);
    default:
      return json(writer, smallObject);
  }
}

function fittingText(writer: Writer, schema: JsonSchema, field: string): string {
  const { random } = writer;
  const { minLength = 0, maxLength = usualText, pattern } = schema;
  const known = random.next() < 0.7 ? writer.known(field) : undefined;
  const candidates = [
    ...(typeof known === 'string' ? [known] : []),
    ...named(writer, field),
    ...(schema.format === 'uuid' ? [uuid(writer)] : []),
    ...(schema.format === 'date-time' ? [instant(writer)] : []),
    ...(pattern === undefined ? [text(writer, maxLength)] : []),
    name(writer),
    instant(writer),
    String(1 + random.int(20)),
    `${name(writer)}@example.com`,
    'x'.repeat(minLength),
  ];
  const form = pattern === undefined ? null : new RegExp(pattern, 'u');
  const fits = (value: string) =>
    value.length >= minLength && value.length <= maxLength && (form === null || form.test(value));
  return candidates.find(fits) ?? 'x'.repeat(minLength);
}

/** The usual content of a field of this name. */
function named(writer: Writer, field: string): string[] {
  const { random, marker, large } = writer;
  switch (field) {
    case 'yaml_content':
      return [yaml(writer)];
    case 'agent_id':
    case 'agent_ids':
      return [agentId(writer)];
    case 'pattern':
      return [glob(writer)];
    case 'page':
      return [random.pick(['explore', 'runs', 'agents'])];
    case 'timestamp':
    case 'since':
    case 'until':
      return [instant(writer)];
    case 'fingerprint':
      return [`sha256:${String(random.int(10)).repeat(64)}`];
    case 'call_id':
      return [`${marker ?? 'nobody'}-${random.int(1e9)}`];
    case 'verdict':
      return [random.pick(['call_allowed', 'call_denied', 'call_executed', 'call_approval_requested'])];
    case 'value':
      return [
        random.next() < 0.3
          ? String(random.int(100))
          : `${marker ?? 'nobody'}${'v'.repeat(large ? 1_000_000 : 50)}`,
      ];
    default:
      return [];
  }
}

function fittingNumber({ random }: Writer, schema: JsonSchema): number {
  const min = Math.max(schema.minimum ?? 0, -(2 ** 40));
  const max = Math.min(schema.maximum ?? 1000, 2 ** 40);
  if (random.next() < 0.1) return random.pick([min, max]);
  const value = min + random.next() * (Math.min(max, min + 1000) - min);
  return schema.type === 'integer' ? Math.round(value) : value;
}

function fittingList(writer: Writer, schema: JsonSchema, field: string): unknown[] {
  const { random, large } = writer;
  const { minItems = 0, maxItems = 1000 } = schema;
  const usual = Math.min(maxItems, random.next() < 0.15 || large ? 200 : 4);
  const count = Math.max(minItems, 1 + random.int(usual));
  return Array.from({ length: Math.min(count, maxItems) }, () => fitting(writer, schema.items ?? {}, field));
}

function fittingObject(writer: Writer, schema: JsonSchema, field: string): unknown {
  const { random, large } = writer;
  if (field === 'definition') return definition(writer);
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) {
    if (typeof schema.additionalProperties !== 'object' || schema.additionalProperties.type === undefined)
      return object(writer, large && random.next() < 0.5 ? largeObject : smallObject);
    const items = schema.additionalProperties;
    const names = Array.from({ length: 1 + random.int(4) }, () => text(writer, 60));
    return Object.fromEntries(names.map((key) => [key.replace(/[\n\t]/g, ' '), fitting(writer, items)]));
  }
  const required = new Set(schema.required ?? []);
  return Object.fromEntries(
    properties
      .filter(([key]) => required.has(key) || random.next() < 0.6)
      .map(([key, part]) => [key, fitting(writer, part, key)]),
  );
}

const wrong: readonly ((writer: Writer) => unknown)[] = [
  () => null,
  () => true,
  () => '',
  () => [],
  () => ({}),
  () => -1,
  () => 1.5,
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER + 1,
  () => 'x'.repeat(300),
  () => 'x'.repeat(70_000),
  () => 'a\u0000b',
  () => 'a\nevent: forged\n\n',
  () => 'a\u2028b',
  () => '\ud800',
  () => '__proto__',
  () => '2026-13-45T99:99:99Z',
  () => '00000000-0000-0000-0000-000000000000',
  () => Array.from({ length: 3000 }, () => 0),
  () => [[[[[[]]]]]],
  (writer) => json(writer, 200),
  (writer) => object(writer, 5000, 200),
  (writer) => text(writer, 300),
];

/** A copy of the value with something in it that may not fit: replaced, left out, added, doubled. */
export function bent(writer: Writer, value: unknown, depth = 0): unknown {
  const { random } = writer;
  const isOpen = typeof value === 'object' && value !== null && depth < 5;
  if (!isOpen || random.next() < 0.1) return random.pick(wrong)(writer);
  if (Array.isArray(value)) {
    if (value.length === 0) return random.pick(wrong)(writer);
    const at = random.int(value.length);
    return value.map((item, i) => (i === at ? bent(writer, item, depth + 1) : item));
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return random.pick(wrong)(writer);
  const at = random.int(entries.length);
  if (random.next() < 0.15) return Object.fromEntries(entries.filter((_, i) => i !== at));
  const changed = entries.map(([key, item], i) => [key, i === at ? bent(writer, item, depth + 1) : item]);
  return Object.fromEntries(changed);
}

/** Bytes that are no proper JSON, or too much of it. */
export function brokenJson({ random }: Pen, good: string): Buffer {
  const deep = 10 + random.int(20_000);
  const many = 1000 + random.int(300_000);
  const kinds: (() => string | Buffer)[] = [
    () => good.slice(0, random.int(good.length + 1)),
    () => '['.repeat(deep) + ']'.repeat(deep),
    () => `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`,
    () => `[${'0,'.repeat(many)}0]`,
    () => `{"a":1e${random.int(1000)}}`,
    () => good.replace(/"/, '"\\ud800'),
    () => good.replace('{', '{"__proto__":{"a":1},'),
    () => good.replace('{', '{"constructor":{"prototype":{"a":1}},'),
    () => `\ufeff${good}`,
    () => Buffer.from([0xff, 0xfe, 0, 0x7b]),
    () => Buffer.concat([Buffer.from(good), Buffer.from([0xc0, 0xaf])]),
    () => good.replaceAll('"', "'"),
    () => `${good}${good}`,
    () => good.replace(/\d/, 'NaN'),
    () => ' '.repeat(random.int(100_000)) + good,
    () => good.replaceAll(':', `:${' '.repeat(random.int(500))}`),
    () => `"${'\\u0041'.repeat(random.int(100_000))}"`,
    () => '',
  ];
  return Buffer.from(random.pick(kinds)());
}

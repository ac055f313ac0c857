// The published JSON schemas of the protocol's revisions, as the conformance suite carries them in its one file.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import vm from 'node:vm';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json } from './setting.ts';

const packageFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
/** In the order of the file. */
const revisions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

type Definitions = { readonly [name: string]: Json };
interface Schema {
  readonly $schema: string;
  readonly definitions?: Definitions;
  readonly $defs?: Definitions;
}

/** The end of the literal that begins at `start`. */
function literalAt(text: string, start: number): string {
  let depth = 0;
  let quote = '';
  for (let at = start; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (quote !== '') {
      if (char === '\\') at += 1;
      else if (char === quote) quote = '';
    } else if ('`"\''.includes(char)) quote = char;
    else if ('{['.includes(char)) depth += 1;
    else if ('}]'.includes(char)) {
      depth -= 1;
      if (depth === 0) return text.slice(start, at + 1);
    }
  }
  throw new Error('a schema has no end');
}

function readSchemas(): Map<Revision, Schema> {
  const text = readFileSync(join(dirname(packageFile), 'dist/index.js'), 'utf8');
  const schemas: Schema[] = [];
  for (let at = text.indexOf('{$schema:'); at >= 0 && schemas.length < revisions.length; ) {
    const literal = literalAt(text, at);
    schemas.push(vm.runInNewContext(`(${literal})`) as Schema);
    at = text.indexOf('{$schema:', at + literal.length);
  }
  return new Map(revisions.map((revision, at) => [revision, schemas[at] as Schema]));
}

/** Checks messages of one revision. */
export class MessageSchema {
  readonly #definitions: Definitions;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #compile: (name: string) => ValidateFunction;

  constructor(revision: Revision) {
    const schema = readSchemas().get(revision) as Schema;
    this.#definitions = schema.definitions ?? schema.$defs ?? {};
    const options = { strict: false, validateFormats: false, allErrors: true };
    const ajv = schema.$defs ? new Ajv2020(options) : new Ajv(options);
    ajv.addSchema(schema, 'mcp');
    const path = schema.$defs ? '$defs' : 'definitions';
    this.#compile = (name) => ajv.compile({ $ref: `mcp#/${path}/${name}` });
  }

  /** Faults of the message; empty: none. @param method of the request, for its answer */
  problems(message: Json, method: string | null): readonly string[] {
    if (message.method !== undefined) {
      const name = this.#nameOf(
        String(message.method),
        message.id === undefined ? 'Notification' : 'Request',
      );
      return name === null ? [`${message.method} is no message of the revision`] : this.#check(name, message);
    }
    if (message.error !== undefined)
      return this.#check(
        'JSONRPCErrorResponse' in this.#definitions ? 'JSONRPCErrorResponse' : 'JSONRPCError',
        message,
      );
    const request = method === null ? null : this.#nameOf(method, 'Request');
    if (request === null) return [`an answer to ${method}, which is no request of the revision`];
    const own = request.replace(/Request$/, 'Result');
    const isUnended = (message.result as Json | undefined)?.resultType === 'input_required';
    const name = isUnended ? 'InputRequiredResult' : own in this.#definitions ? own : 'EmptyResult';
    return this.#check(name, message.result);
  }

  #nameOf(method: string, kind: 'Request' | 'Notification'): string | null {
    const isOf = (definition: Json): boolean =>
      ((definition.properties as Json | undefined)?.method as Json | undefined)?.const === method;
    const names = Object.keys(this.#definitions).filter((name) => name.endsWith(kind));
    return names.find((name) => isOf(this.#definitions[name] ?? {})) ?? null;
  }

  #check(name: string, value: unknown): readonly string[] {
    const validate = this.#validators.get(name) ?? this.#compile(name);
    this.#validators.set(name, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${name}${instancePath} ${message}`);
  }
}

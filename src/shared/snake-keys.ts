// Names of fields at the edge: camelCase inside, snake_case in log lines, audit entries and printed results. Pure.

const hasCapital = /[A-Z]/;

export const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The object with its own keys in snake_case; those of inner objects stay. The same object if no key changes. */
export function snakeKeys<V>(fields: { readonly [name: string]: V }): { readonly [name: string]: V } {
  for (const key in fields) {
    if (!hasCapital.test(key)) continue;
    return Object.fromEntries(Object.entries(fields).map(([name, value]) => [snake(name), value]));
  }
  return fields;
}

/** The reverse: the object with its own keys in camelCase. */
export const camelKeys = <V>(fields: { readonly [name: string]: V }): { readonly [name: string]: V } =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [camel(name), value]));

const camel = (name: string): string => name.replace(/_[a-z]/g, (word) => word.slice(1).toUpperCase());

// Names of fields at the edge: camelCase inside, snake_case in log lines, audit entries and printed results. Pure.

const hasCapital = /[A-Z]/;

export const snake = <S extends string>(name: S): Snake<S> =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<S>;

export type Snake<S extends string> = S extends `${infer C}${infer Rest}`
  ? `${C extends Lowercase<C> ? C : `_${Lowercase<C>}`}${Snake<Rest>}`
  : S;
type Camel<S extends string> = S extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<Camel<Rest>>}`
  : S;
export type SnakeKeys<T> = { [K in keyof T as Snake<K & string>]: T[K] };
export type CamelKeys<T> = { [K in keyof T as Camel<K & string>]: T[K] };

/** The object with its own keys in snake_case; those of inner objects stay. The same object if no key changes. */
export function snakeKeys<T extends object>(fields: T): SnakeKeys<T> {
  for (const key in fields) {
    if (!hasCapital.test(key)) continue;
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [snake(name), value]),
    ) as SnakeKeys<T>;
  }
  return fields as unknown as SnakeKeys<T>;
}

/** The reverse: the object with its own keys in camelCase. */
export const camelKeys = <T extends object>(fields: T): CamelKeys<T> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [camel(name), value])) as CamelKeys<T>;

const camel = (name: string): string => name.replace(/_[a-z]/g, (word) => word.slice(1).toUpperCase());

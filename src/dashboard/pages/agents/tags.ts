// Parses typed tags (`team=shop, tier=gold`), and compares an agent's tags with those of a rule.

export interface Tags {
  readonly [name: string]: string;
}

const pair = /^\s*([^=\s][^=]*?)\s*=\s*(.*?)\s*$/;

export const tagsOf = (text: string): Tags =>
  Object.fromEntries(
    text
      .split(',')
      .map((one) => pair.exec(one))
      .filter((one) => one !== null)
      .map(([, name = '', value = '']) => [name, value]),
  );

/** The first part of a text that is not a tag; null if there is none. */
export const tagsProblem = (text: string): string | null => {
  const wrong = text.split(',').find((one) => one.trim() !== '' && !pair.test(one));
  return wrong === undefined ? null : `${wrong.trim().slice(0, 60)} is not a valid tag. Enter name=value.`;
};

export const tagsText = (tags: Tags): string =>
  Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');

/** The first tag of a rule that an agent lacks; null if it lacks none. */
export function missingTag(ruleTags: Tags, tags: Tags): readonly [name: string, value: string] | null {
  return (
    Object.entries(ruleTags).find(([name, value]) => !Object.hasOwn(tags, name) || tags[name] !== value) ??
    null
  );
}

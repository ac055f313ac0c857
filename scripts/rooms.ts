// The measures that look at files by their place: nouns with a record, and lines of the sandbox.

interface Source {
  readonly file: string;
  readonly text: string;
}

/** Nouns with a file or a folder `record`, by whether one of their files declares the fields of a record. */
export function recordNouns(files: readonly Source[]): {
  readonly declaring: readonly string[];
  readonly others: readonly string[];
} {
  const recordFiles = files.flatMap(({ file, text }) => {
    const noun = /^src\/([a-z]+)\/record(?:\.ts|\/)/.exec(file)?.[1];
    // `src/shared` belongs to no noun.
    return noun === undefined || noun === 'shared' ? [] : [{ noun, text }];
  });
  const nouns = [...new Set(recordFiles.map(({ noun }) => noun))].sort();
  const declares = (noun: string): boolean =>
    recordFiles.some((one) => one.noun === noun && /(?<![.\w])record\(\s*'/.test(one.text));
  return { declaring: nouns.filter(declares), others: nouns.filter((noun) => !declares(noun)) };
}

/** `18 of 19 (none: event)`. */
export function recordNounsText({ declaring, others }: ReturnType<typeof recordNouns>): string {
  const gap = others.length === 0 ? '' : ` (none: ${others.join(', ')})`;
  return `${declaring.length} of ${declaring.length + others.length}${gap}`;
}

/** Data of programs; the other files below `profiles` read, check or search profiles. */
const programData = /\/profiles\/(?:files|git|network|projects|texts|wrappers)\.ts$/;

/** True for a file of the sandbox that is not data of programs. */
export const isSandboxCode = (file: string): boolean =>
  /^packages\/agent\/src\/rules\/sandbox(?:\.ts|\/)/.test(file) && !programData.test(file);

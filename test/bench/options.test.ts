// The options of the benchmarks: what a program declares is what it reads, bounds and explains.
import { describe, expect, it } from 'vitest';
import { parseOptions, usageOf } from '../../bench/options.ts';

const options = {
  repeats: { about: 'repeats', default: 3, atLeast: 3 },
  'frame-bytes': { about: 'of the frame', default: 32_768 },
  quiet: { about: 'seconds to wait', default: 0, atLeast: 0 },
  data: { about: 'keeps the data there', default: null, value: 'FOLDER' },
};

describe('the options of a benchmark', () => {
  it('are their defaults where nothing is given', () => {
    expect(parseOptions(options, [])).toEqual({
      repeats: 3,
      'frame-bytes': 32_768,
      quiet: 0,
      data: null,
      json: false,
      help: false,
    });
  });

  it('are read as numbers and as text', () => {
    const given = ['--repeats', '5', '--frame-bytes=300', '--quiet', '0', '--data', 'kept', '--json'];
    expect(parseOptions(options, given)).toMatchObject({
      repeats: 5,
      'frame-bytes': 300,
      quiet: 0,
      data: 'kept',
      json: true,
    });
  });

  it.each(['2', '', 'many', '3.5', '1e9', '9999999999999'])('refuse %j repeats with a sentence', (text) => {
    expect(() => parseOptions(options, [`--repeats=${text}`])).toThrow(
      '--repeats takes a whole number of at least 3.',
    );
  });

  it('refuse a name that the program does not have', () => {
    expect(() => parseOptions(options, ['--repeat', '3'])).toThrow('--repeat');
  });

  it('are explained with their defaults and bounds', () => {
    expect(usageOf({ program: 'requests', options, note: 'Ends with code 1 when the goal is missed.' })).toBe(
      `Usage: npm run build && node dist/bench/requests.js [options]
  --repeats N      repeats (3; at least 3)
  --frame-bytes N  of the frame (32768)
  --quiet N        seconds to wait (0)
  --data FOLDER    keeps the data there
  --json           one line of JSON instead of text
Ends with code 1 when the goal is missed.
`,
    );
  });
});

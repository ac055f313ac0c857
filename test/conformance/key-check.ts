// Every store's promises about the check on the master secret (shared/ports/key-check).
import { describe, expect, it } from 'vitest';
import { hostileTexts, type Open, parallel, sharedStore, uuid } from './fixtures.ts';

export function keyCheckContract(name: string, open: Open): void {
  describe(`${name}: keyCheck`, () => {
    const shared = sharedStore(open);

    it('of 20 parallel first values one is kept, and all are told which', async () => {
      const { keyCheck } = shared.get();
      const answers = await parallel(20, (i) => keyCheck.first('master', `value ${i}`));
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toMatch(/^value \d+$/);
      expect(await keyCheck.first('master', 'later')).toBe(answers[0]);
    });

    it('names and values are apart, whatever they hold', async () => {
      const { keyCheck } = shared.get();
      const lead = uuid();
      for (const text of hostileTexts) expect(await keyCheck.first(`${lead}${text}`, text)).toBe(text);
      for (const text of hostileTexts) expect(await keyCheck.first(`${lead}${text}`, 'other')).toBe(text);
    });
  });
}

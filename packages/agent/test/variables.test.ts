// Values of `env.NAME` in an agent: variables, and nothing else that the environment's object has.
import { describe, expect, it } from 'vitest';
import { Guard, type GuardOptions } from '../src/index.ts';

const verdict = (when: string, options: GuardOptions = {}): string => {
  const guard = Guard.fromYaml(
    `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: a}\ndefaults: {mode: enforce}\ncontracts: [{id: a, type: pre, tool: t, when: ${when}, then: {effect: deny, message: m}}]`,
    options,
  );
  return guard.evaluate('t', {}).verdict;
};

describe('env selectors', () => {
  it('read the variables that the guard was given, and those of the process otherwise', () => {
    expect(verdict('{env.STAGE: {equals: 3}}', { variables: { STAGE: '3' } })).toBe('deny');
    expect(verdict('{env.PATH: {exists: true}}')).toBe('deny');
    expect(verdict('{env.PATH: {exists: true}}', { variables: {} })).toBe('allow');
  });

  it.each(['toString', 'constructor', 'hasOwnProperty', '__proto__x', 'valueOf'])('find no %s', (name) => {
    expect(verdict(`{env.${name}: {exists: true}}`)).toBe('allow');
    expect(verdict(`{env.${name}: {exists: true}}`, { variables: {} })).toBe('allow');
  });
});

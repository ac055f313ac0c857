// Bundles that no engine may load, by what is wrong with them. For everything that takes a bundle.

export const head =
  'apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: a}\ndefaults: {mode: enforce}\n';
export const then = 'then: {effect: deny, message: m}';
export const pre = (rest: string) => `${head}contracts:\n  - {id: a, type: pre, ${rest}}\n`;
export const when = 'when: {args.p: {exists: true}}';
export const box = (rest: string) =>
  `${head}contracts:\n  - {id: a, type: sandbox, tool: t, message: m, ${rest}}\n`;

const bomb = Array.from({ length: 10 }, (_, i) =>
  i === 0
    ? 'a0: &a0 [x, x]'
    : `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
).join('\n');

/** The document's description, its text, and the message about it. */
export const hostileBundles: readonly [name: string, yaml: string, said: RegExp][] = [
  ['no text', '', /expected a mapping at the top level/],
  ['a list', '[]', /expected a mapping at the top level/],
  ['broken YAML', 'a: [', /Invalid YAML: .* \(line 1, column \d+\)/],
  ['two documents', `${pre(`tool: t, ${when}, ${then}`)}---\na: 1\n`, /more than 1 document/],
  [
    'no apiVersion',
    pre(`tool: t, ${when}, ${then}`).replace('apiVersion: service/v1\n', ''),
    /^apiVersion: expected/,
  ],
  [
    'another apiVersion',
    pre(`tool: t, ${when}, ${then}`).replace('service/v1', 'service/v2'),
    /^apiVersion: expected/,
  ],
  [
    'another kind',
    pre(`tool: t, ${when}, ${then}`).replace('ContractBundle', 'Pod'),
    /^kind: expected ContractBundle or Ruleset/,
  ],
  [
    'the wrong list for the kind',
    pre(`tool: t, ${when}, ${then}`).replace('ContractBundle', 'Ruleset'),
    /contracts: unexpected key/,
  ],
  [
    'no defaults',
    pre(`tool: t, ${when}, ${then}`).replace('defaults: {mode: enforce}\n', ''),
    /^defaults: expected a mapping/,
  ],
  [
    'an unknown mode',
    pre(`tool: t, ${when}, ${then}`).replace('{mode: enforce}', '{mode: off}'),
    /^defaults.mode: expected enforce or observe \(line 4, column 12\)/,
  ],
  ['an unknown key at the top', `${pre(`tool: t, ${when}, ${then}`)}extra: 1\n`, /^extra: unexpected key/],
  ['extends', `${pre(`tool: t, ${when}, ${then}`)}extends: b\n`, /extends is not supported/],
  [
    'a bad name',
    pre(`tool: t, ${when}, ${then}`).replace('name: a', 'name: A'),
    /^metadata.name: expected to match/,
  ],
  ['no contracts', `${head}contracts: []`, /^contracts: expected a list of at least one contract/],
  ['contracts as text', `${head}contracts: all`, /^contracts: expected a list/],
  ['a contract as text', `${head}contracts: [x]`, /^contracts\[0\]: expected a mapping/],
  [
    'no type',
    `${head}contracts: [{id: a, tool: t, ${when}, ${then}}]`,
    /contract 'a': contracts\[0\].type: expected pre or post/,
  ],
  ['no id', `${head}contracts: [{type: pre, tool: t, ${when}, ${then}}]`, /contracts\[0\].id/],
  [
    'an id with a dot',
    `${head}contracts: [{id: a.b, type: pre, tool: t, ${when}, ${then}}]`,
    /contracts\[0\].id/,
  ],
  [
    'an id twice',
    `${head}contracts:\n  - {id: a, type: pre, tool: t, ${when}, ${then}}\n  - {id: a, type: pre, tool: t, ${when}, ${then}}`,
    /contract 'a': contracts\[1\].id: expected a unique id.*line 7/,
  ],
  ['no tool', pre(`${when}, ${then}`), /expected tool/],
  ['tool and tools', pre(`tool: a, tools: [b], ${when}, ${then}`), /tool or tools, not both/],
  ['an empty tool', pre(`tool: "", ${when}, ${then}`), /\.tool: expected a string/],
  ['no tools', pre(`tools: [], ${when}, ${then}`), /\.tools: expected a list of 1/],
  ['no when', pre(`tool: t, ${then}`), /\.when: expected a mapping/],
  ['an empty when', pre(`tool: t, when: {}, ${then}`), /expected at least one condition/],
  ['an empty all', pre(`tool: t, when: {all: []}, ${then}`), /\.when\.all: expected a list of at least one/],
  [
    'not with a list',
    pre(`tool: t, when: {not: [{args.a: {exists: true}}]}, ${then}`),
    /\.when\.not: expected a mapping/,
  ],
  [
    'any beside a selector',
    pre(`tool: t, when: {any: [{args.a: {exists: true}}], args.b: {exists: true}}, ${then}`),
    /any to be the only key/,
  ],
  [
    'an unknown operator',
    pre(`tool: t, when: {args.a: {like: x}}, ${then}`),
    /when\.args\.a\.like: unknown operator/,
  ],
  [
    'a selector without an operator',
    pre(`tool: t, when: {args.a: x}, ${then}`),
    /expected a mapping of at least one operator/,
  ],
  [
    'output in a pre contract',
    pre(`tool: t, when: {output.text: {contains: x}}, ${then}`),
    /output.text exists only after the call/,
  ],
  [
    'a result in a pre contract',
    pre(`tool: t, when: {any: [{result.x: {contains: x}}]}, ${then}`),
    /result.x exists only after the call/,
  ],
  [
    'a backreference',
    pre(`tool: t, when: {args.a: {matches: "(a)\\\\1"}}, ${then}`),
    /matches: Invalid pattern: backreferences/,
  ],
  [
    'a broken pattern in a list',
    pre(`tool: t, when: {args.a: {matches_any: [ok, "("]}}, ${then}`),
    /matches_any\[1\]: Invalid pattern: missing \)/,
  ],
  ['an empty pattern', pre(`tool: t, when: {args.a: {matches: ""}}, ${then}`), /expected a string of 1/],
  [
    'a pattern that explodes',
    pre(`tool: t, when: {args.a: {matches: "(a{900}){900}"}}, ${then}`),
    /more than 2000 steps/,
  ],
  [
    'exists with text',
    pre(`tool: t, when: {args.a: {exists: "yes"}}, ${then}`),
    /exists: expected true or false/,
  ],
  ['in without a list', pre(`tool: t, when: {args.a: {in: x}}, ${then}`), /in: expected a list/],
  ['in with an empty list', pre(`tool: t, when: {args.a: {in: []}}, ${then}`), /in: expected a list/],
  [
    'contains with a number',
    pre(`tool: t, when: {args.a: {contains: 5}}, ${then}`),
    /contains: expected a string/,
  ],
  ['gt with a numeric string', pre(`tool: t, when: {args.a: {gt: "5"}}, ${then}`), /gt: expected a number/],
  [
    'conditions nested too deep',
    pre(`tool: t, when: ${'{not: '.repeat(51)}{args.a: {exists: true}}${'}'.repeat(51)}, ${then}`),
    /nested at most 50 deep/,
  ],
  [
    'too many conditions',
    pre(`tool: t, when: {all: [${'{a: {exists: true}},'.repeat(101)}]}, ${then}`),
    /at most 100 conditions; there are 101/,
  ],
  [
    'an effect of another type',
    pre(`tool: t, ${when}, then: {effect: warn, message: m}`),
    /then\.effect: expected deny or approve/,
  ],
  [
    'the word of the other vocabulary',
    pre(`tool: t, ${when}, then: {effect: block, message: m}`),
    /then\.effect: expected deny or approve/,
  ],
  [
    'the key of the other vocabulary',
    pre(`tool: t, ${when}, then: {action: deny, message: m}`),
    /then\.action: unexpected key/,
  ],
  [
    'no message',
    pre(`tool: t, ${when}, then: {effect: deny}`),
    /then\.message: expected a string of 1 to 500/,
  ],
  [
    'a long message',
    pre(`tool: t, ${when}, then: {effect: deny, message: ${'m'.repeat(501)}}`),
    /1 to 500 characters/,
  ],
  [
    'a timeout of zero',
    pre(`tool: t, ${when}, then: {effect: approve, message: m, timeout: 0}`),
    /timeout: expected a whole number/,
  ],
  [
    'an unknown timeout effect',
    pre(`tool: t, ${when}, then: {effect: approve, message: m, timeout_effect: maybe}`),
    /timeout_effect: expected deny or allow/,
  ],
  [
    'both names of the timeout effect',
    pre(`tool: t, ${when}, then: {effect: approve, message: m, timeout_effect: deny, timeout_action: allow}`),
    /timeout_action: expected timeout_effect or timeout_action, not both/,
  ],
  ['an empty tag', pre(`tool: t, ${when}, then: {effect: deny, message: m, tags: [""]}`), /tags\[0\]/],
  ['enabled as text', pre(`tool: t, enabled: "no", ${when}, ${then}`), /enabled: expected true or false/],
  ['an unknown key in a contract', pre(`tool: t, wen: 1, ${when}, ${then}`), /wen: unexpected key/],
  [
    'timeout on a post contract',
    `${head}contracts: [{id: a, type: post, tool: t, ${when}, then: {effect: warn, message: m, timeout: 5}}]`,
    /timeout: unexpected key/,
  ],
  [
    'a session with a tool',
    `${head}contracts: [{id: a, type: session, tool: t, limits: {max_attempts: 1}, ${then}}]`,
    /tool: unexpected key/,
  ],
  [
    'a session without limits',
    `${head}contracts: [{id: a, type: session, limits: {}, ${then}}]`,
    /expected at least one of max_tool_calls/,
  ],
  [
    'a limit of zero',
    `${head}contracts: [{id: a, type: session, limits: {max_calls_per_tool: {t: 0}}, ${then}}]`,
    /max_calls_per_tool\.t: expected a whole number/,
  ],
  ['a sandbox without bounds', box('timeout: 5'), /expected at least one of within, allows/],
  ['not_within alone', box('allows: {commands: [ls]}, not_within: [/x]'), /not_within needs within/],
  ['not_allows alone', box('within: [/x], not_allows: {domains: [a]}'), /not_allows needs allows/],
  [
    'not_allows.domains without allows.domains',
    box('allows: {commands: [ls]}, not_allows: {domains: [a]}'),
    /needs allows.domains/,
  ],
  ['an empty allows', box('allows: {}'), /expected commands or domains/],
  ['then in a sandbox', box(`within: [/x], ${then}`), /then: unexpected key/],
  [
    'an unknown side effect',
    `${pre(`tool: t, ${when}, ${then}`)}tools: {t: {side_effect: none}}\n`,
    /tools\.t\.side_effect: expected pure or/,
  ],
  [
    'an unknown protocol',
    `${pre(`tool: t, ${when}, ${then}`)}observability: {otel: {protocol: udp}}\n`,
    /protocol: expected grpc or http/,
  ],
  ['a prototype key', pre(`tool: t, when: {__proto__: {exists: true}}, ${then}`), /__proto__ is not allowed/],
  ['an alias bomb', `${head}contracts: []\n${bomb}`, /more than 200000 values once aliases are expanded/],
  ['an alias of itself', `${head}contracts: &c [*c]\n`, /unknown alias/],
  ['a merge of a text', `${head}contracts: [{<<: text}]\n`, /a merge key needs a mapping/],
  ['lists 5,000 deep', `${head}contracts: ${'['.repeat(5_000)}${']'.repeat(5_000)}`, /nested deeper than 64/],
  [
    'mappings 5,000 deep',
    `${head}contracts: ${'{a: '.repeat(5_000)}1${'}'.repeat(5_000)}`,
    /nested deeper than 64/,
  ],
  ['a megabyte of brackets', '['.repeat(1_000_000), /nested deeper than 64/],
  ['more than a megabyte', `${head}# ${'x'.repeat(1_048_576)}`, /larger than 1048576 bytes/],
  ['a million tokens', `${head}contracts: [${'1,'.repeat(400_000)}]`, /more than 250000 tokens/],
  [
    '101 contracts',
    pre(`tool: t, ${when}, ${then}`) + '  - {id: b}\n'.repeat(100),
    /at most 100 contracts; there are 101/,
  ],
  ['a duplicate key', `${head}metadata: {name: b}\ncontracts: []`, /duplicate key "metadata"/],
  ['a function', `${head}contracts: !!js/function "x"`, /tag/],
  ['a python object', `${head}contracts: !!python/object/apply:os.system [ls]`, /tag/],
  ['a byte order mark', `\ufeff${head}contracts: []`, /byte order mark/],
  ['a zero byte', `${head}contracts: "\u0000"`, /control character 0/],
  ['half of a surrogate pair', `${head}contracts: "\ud800"`, /surrogate/],
  [
    'an infinite limit',
    `${head}contracts: [{id: a, type: session, limits: {max_attempts: .inf}, ${then}}]`,
    /a number must be finite/,
  ],
  [
    'a fractional limit',
    `${head}contracts: [{id: a, type: session, limits: {max_attempts: 1.5}, ${then}}]`,
    /expected a whole number/,
  ],
  [
    'a limit as text',
    `${head}contracts: [{id: a, type: session, limits: {max_tool_calls: "5"}, ${then}}]`,
    /expected a whole number/,
  ],
  [
    'a session that asks',
    `${head}contracts: [{id: a, type: session, limits: {max_attempts: 1}, then: {effect: approve, message: m}}]`,
    /effect: expected deny/,
  ],
  [
    'an id of 129 characters',
    `${head}contracts: [{id: ${'a'.repeat(129)}, type: pre, tool: t, ${when}, ${then}}]`,
    /at most 128 characters/,
  ],
  [
    'a constructor key',
    pre(`tool: t, when: {constructor: {exists: true}}, ${then}`),
    /constructor is not allowed/,
  ],
  ['lookahead', pre(`tool: t, when: {args.a: {matches: "a(?=b)"}}, ${then}`), /lookaround is not supported/],
  [
    'a possessive quantifier',
    pre(`tool: t, when: {args.a: {matches: "a++"}}, ${then}`),
    /possessive quantifiers are not supported/,
  ],
  [
    'groups 100 deep',
    pre(`tool: t, when: {args.a: {matches: "${'('.repeat(100)}${')'.repeat(100)}"}}, ${then}`),
    /nested deeper than 50/,
  ],
  [
    'a pattern of 1,001 characters',
    pre(`tool: t, when: {args.a: {matches: "${'a'.repeat(1001)}"}}, ${then}`),
    /string of 1 to 1000 characters/,
  ],
  [
    'a pattern as a number',
    pre(`tool: t, when: {args.a: {matches: 5}}, ${then}`),
    /matches: expected a string/,
  ],
  [
    '101 patterns',
    pre(`tool: t, when: {args.a: {matches_any: [${'a,'.repeat(101)}]}}, ${then}`),
    /expected a list of 1 to 100 strings/,
  ],
  [
    'patterns that cost too much together',
    head +
      'contracts:\n' +
      Array.from({ length: 90 }, (_, i) => {
        const list = Array(3).fill('"(a{40}){45}"').join(', ');
        return `  - {id: c${i}, type: pre, tool: t, when: {args.a: {matches_any: [${list}]}}, ${then}}\n`;
      }).join(''),
    /at most 200000 steps together/,
  ],
  ['metadata as a list', `${head.replace('{name: a}', '[a]')}contracts: []`, /^metadata: expected a mapping/],
  ['a reserved name', `${head.replace('name: a', 'name: evaluate')}contracts: []`, /"evaluate" is reserved/],
  [
    'a description as a number',
    `${head.replace('name: a', 'name: a, description: 5')}contracts: []`,
    /metadata.description: expected a string/,
  ],
  ['tools as a list', `${pre(`tool: t, ${when}, ${then}`)}tools: [a]\n`, /^tools: expected a mapping/],
  [
    'observability as text',
    `${pre(`tool: t, ${when}, ${then}`)}observability: all\n`,
    /^observability: expected a mapping/,
  ],
  ['101 tools', pre(`tools: [${'t,'.repeat(101)}], ${when}, ${then}`), /expected a list of 1 to 100 strings/],
  ['a when as a list', pre(`tool: t, when: [1], ${then}`), /when: expected a mapping/],
  ['a within as text', box('within: /w'), /within: expected a list/],
  ['an empty boundary', box('within: [""]'), /within\[0\]: expected a string of 1/],
];

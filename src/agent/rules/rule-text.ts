// The text of an assignment rule whose SHA-256 identifies one state of the rule.
import { canonicalJson } from '../../shared/json/canonical.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import type { AssignmentRule } from '../record.ts';

export const ruleText = ({
  priority,
  pattern,
  tagMatch,
  bundleName,
  env,
}: Pick<AssignmentRule, 'priority' | 'pattern' | 'tagMatch' | 'bundleName' | 'env'>): string =>
  canonicalJson(snakeKeys({ priority, pattern, tagMatch, bundleName, env }));

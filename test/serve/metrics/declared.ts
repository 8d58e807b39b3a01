/** Every measurement that the service declares, whether there is a sample of it or not. */

import { Registry } from 'prom-client';
import { declareMetrics } from '../../../src/serve/service/metrics.ts';

export type Declared = { name: string; type: string; labels: readonly string[]; help: string };

export function declaredMetrics(): Declared[] {
  const registry = new Registry();
  declareMetrics(registry, [], [], '');
  return registry.getMetricsAsArray().map((metric) => {
    const { name, type, help, labelNames } = metric as typeof metric & { labelNames: string[] };
    return { name, type: String(type), labels: labelNames, help };
  });
}

/** Those that are ours: others come with every process of Node.js. */
export const isOurs = ({ name }: Pick<Declared, 'name'>) => name.startsWith('market_mirror_');

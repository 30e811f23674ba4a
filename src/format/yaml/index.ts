export { type Frontmatter, readFrontmatter } from './read-frontmatter.js';
export { readYaml, type YamlEntry, type YamlFault, type YamlNode, type YamlRead } from './read-yaml.js';

import type { JsonObject } from '../../shared/json.js';

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

export type Style = 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

export interface ApiParameter {
  readonly name: string;
  readonly in: ParameterPlace;
  readonly required: boolean;
  readonly style: Style;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** True when the value is sent as JSON: the document gives a media type instead of a schema. */
  readonly isJson: boolean;
  readonly schema: JsonObject;
}

/** How one field of a form is sent. */
export interface ApiField {
  readonly style: Style;
  readonly explode: boolean;
  /** A file, named by its path; or several. */
  readonly file: boolean;
  readonly contentType: string | null;
}

export interface ApiBody {
  readonly mediaType: string;
  /** `file`: the whole body is a file, given by its path. */
  readonly kind: 'json' | 'form' | 'multipart' | 'text' | 'file';
  readonly required: boolean;
  readonly schema: JsonObject;
  /** The fields of a form, by property. */
  readonly fields: ReadonlyMap<string, ApiField>;
}

/** One operation of a document, with everything that a call of it needs. */
export interface ApiOperation {
  readonly id: string;
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly description: string;
  readonly parameters: readonly ApiParameter[];
  readonly body: ApiBody | null;
  /** The nearest `servers` of the document, as written; empty when it names none. */
  readonly servers: readonly string[];
  /** The address of the document that names them: a path may be described in another document. */
  readonly serversAt: string;
  /** Media types of a successful answer; empty when the document names none. */
  readonly answers: readonly string[];
}

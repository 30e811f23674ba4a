import sharp, { type Sharp } from 'sharp';
import { createGate } from '../shared/gate.js';
import { overloaded, Refusal } from '../shared/refusal.js';

/** What a picture is stored as: a square at most, in the one format that we wrote ourselves. */
export const PICTURE_TYPE = 'image/webp';
const SIDE = 512;
/** A picture of a few hundred bytes can say that it has billions of pixels. */
const MAX_PIXELS = 4_096 * 4_096;
const SECONDS = 5;

// Of all that the library reads, only these three: what nobody asks for cannot be attacked.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] });
sharp.cache(false);
sharp.concurrency(1);

/** The library works on threads that name lookups and files use too: two of them, and no more, are for pictures. */
const gate = createGate({
  width: 2,
  line: 50,
  full: () => overloaded('too many pictures at once; try again in a moment', 2),
});

/**
 * A PNG, JPEG or WebP decoded and encoded anew, off the event loop: what else the file held is gone (places where
 * photos were taken among it). Refuses what is none of the three, is broken, or is too big to be a picture of somebody.
 */
export async function encodePicture(bytes: Uint8Array): Promise<Uint8Array> {
  if (!isPicture(bytes)) throw new Refusal('refused', 'the body is no picture: send the bytes of a PNG, JPEG or WebP');
  return gate.run(async () => {
    try {
      return new Uint8Array(await encoder(bytes).toBuffer());
    } catch (error) {
      const tooBig = error instanceof Error && /pixel limit/i.test(error.message);
      throw new Refusal(
        'refused',
        tooBig
          ? `the picture has over ${MAX_PIXELS / 1_000_000} million pixels: make it smaller`
          : 'the picture cannot be read: it is damaged, or takes too long; save it anew and send that',
      );
    }
  });
}

function encoder(bytes: Uint8Array): Sharp {
  return sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', pages: 1 })
    .autoOrient()
    .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 85 })
    .timeout({ seconds: SECONDS });
}

/** By the first bytes: what the caller says it is, is only the caller's word. */
function isPicture(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  return head.startsWith('\x89PNG\r\n\x1a\n') || head.startsWith('\xff\xd8\xff') || /^RIFF....WEBP$/s.test(head);
}

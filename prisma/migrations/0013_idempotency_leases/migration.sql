-- AlterTable
ALTER TABLE "idempotency_key" ADD COLUMN "held_until" TIMESTAMPTZ(3),
ADD COLUMN "holder" TEXT;

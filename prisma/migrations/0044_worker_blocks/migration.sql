-- AlterTable
ALTER TABLE "worker_seen" ADD COLUMN     "blocks" INTEGER NOT NULL DEFAULT 0;

// Package wheel is a hierarchical timing wheel: the cache of what is due soon.
//
// It is pure. It has no clock, no lock and no goroutine: the caller says which tick it is
// (Advance), serialises the calls, and decides how long a tick lasts. Any int64 is a legal tick,
// negative ones and both ends of the range included.
//
// # Shape
//
// A tick is read as eight digits of eight bits. A timer waits at the level of the highest digit
// in which its due tick differs from the present one, in the slot named by that digit. So eight
// levels of 256 slots hold every tick an int64 can name, without rounds to count and without an
// overflow list. When the present reaches the first tick of a slot above level 0, the timers of
// that slot move down (cascade); a timer moves at most seven times in its life.
//
// The slot of a timer is a pure function of its due tick and the present tick. It is never
// stored, two timers of one tick always share a slot, and both facts together keep the order:
// timers of one tick come out in the order in which they were added.
//
// # Memory
//
// A timer is 48 bytes without pointers, kept in blocks of 1024 and linked by index, so the
// garbage collector never looks inside a block and growing never copies. A block is given back
// when its last timer has gone, apart from spare blocks, which are at most a quarter of the
// blocks in use plus one. New timers fill the blocks that are nearly full first. The bound is
// therefore: never more than the peak; after a burst, the blocks that still hold a timer plus a
// quarter. The slots themselves take 17 KB a wheel.
package wheel

package wheel

const (
	blockBits = 10
	blockSize = 1 << blockBits // 1024 timers of 48 bytes are exactly six pages of the allocator
	blockMask = blockSize - 1
)

// timer is one slab entry. The fields of Value stand here one by one because the struct would be
// padded to 32 bytes and the entry to 56.
type timer struct {
	due        uint64 // see key
	version    int64
	id         [16]byte
	next, prev uint32 // neighbours in the list of the slot; next also links free entries
	gen        uint32 // odd while the timer is pending
	note       uint32
}

// block is a piece of the slab with its own free list, so that it can be given back alone.
type block struct {
	t          *[blockSize]timer // nil: given back, the number is vacant
	free       uint32            // freed entries, linked by next; 0 = none
	fresh      uint32            // entries from here on were not used since the block was empty
	used       uint32
	prev, next uint32 // neighbours among the blocks with room, spare or vacant ones; 0 = none
}

// slab owns the entries. Entry 0 is never handed out: 0 means none in every link, which makes
// the zero slab ready for use. Block links are numbers plus one for the same reason.
type slab struct {
	blocks []block
	room   uint32 // blocks with used and with unused entries, the last touched first
	spare  uint32 // empty blocks that still have their memory
	vacant uint32 // numbers whose block was given back
	spares int
	live   int    // blocks with memory
	top    uint32 // highest generation ever given
	base   uint32 // generation at which unused entries start: above those of blocks given back
}

func (s *slab) at(i uint32) *timer {
	return &s.blocks[i>>blockBits].t[i&blockMask]
}

// take returns an unused entry and raises its generation to an odd number.
func (s *slab) take() (uint32, *timer) {
	if s.room == 0 {
		s.open()
	}
	n := s.room - 1
	b := &s.blocks[n]
	var i uint32
	var p *timer
	if b.free != 0 {
		i = b.free
		p = &b.t[i&blockMask]
		b.free = p.next
	} else {
		i = n<<blockBits | b.fresh
		p = &b.t[b.fresh&blockMask]
		b.fresh++
		if p.gen < s.base {
			p.gen = s.base
		}
	}
	p.gen++
	if p.gen > s.top {
		s.top = p.gen
	}
	b.used++
	if b.free == 0 && b.fresh == blockSize {
		s.unroom(b)
	}
	return i, p
}

// give takes an entry back; its generation becomes even, so that no handle names it any more.
func (s *slab) give(i uint32, p *timer) {
	n := i >> blockBits
	b := &s.blocks[n]
	if b.free == 0 && b.fresh == blockSize { // it was full
		s.enroom(n, b)
	}
	p.gen++
	p.next = b.free
	b.free = i
	b.used--
	if b.used == 0 {
		s.emptied(n, b)
	}
}

// find returns the entry a handle names, or nil.
func (s *slab) find(h Handle) (uint32, *timer) {
	i, gen := uint32(h), uint32(h>>32)
	n := int(i >> blockBits)
	if gen&1 == 0 || n >= len(s.blocks) || s.blocks[n].t == nil {
		return 0, nil
	}
	p := &s.blocks[n].t[i&blockMask]
	if p.gen != gen {
		return 0, nil
	}
	return i, p
}

// open puts an empty block at the head of room: a spare one, else a new one.
func (s *slab) open() {
	var n uint32
	switch {
	case s.spare != 0:
		n = s.spare - 1
		s.spare = s.blocks[n].next
		s.spares--
	case s.vacant != 0:
		n = s.vacant - 1
		s.vacant = s.blocks[n].next
	default:
		n = uint32(len(s.blocks))
		s.blocks = append(s.blocks, block{})
	}
	b := &s.blocks[n]
	if b.t == nil {
		b.t = new([blockSize]timer)
		s.live++
	}
	b.free, b.used, b.fresh = 0, 0, firstOf(n)
	s.enroom(n, b)
}

// firstOf is the first usable entry of block n.
func firstOf(n uint32) uint32 {
	if n == 0 {
		return 1
	}
	return 0
}

// emptied sets an empty block aside and gives memory back when too much of it is spare.
func (s *slab) emptied(n uint32, b *block) {
	s.unroom(b)
	b.next = s.spare
	s.spare = n + 1
	s.spares++
	for s.spares > 1+(s.live-s.spares)/4 {
		n := s.spare - 1
		b := &s.blocks[n]
		s.spare = b.next
		s.spares--
		s.live--
		// The entries of a later block in this place must not repeat a generation that an old
		// handle may still carry.
		s.base = (s.top + 1) &^ 1
		*b = block{next: s.vacant}
		s.vacant = n + 1
	}
}

func (s *slab) enroom(n uint32, b *block) {
	b.prev, b.next = 0, s.room
	if s.room != 0 {
		s.blocks[s.room-1].prev = n + 1
	}
	s.room = n + 1
}

func (s *slab) unroom(b *block) {
	if b.prev != 0 {
		s.blocks[b.prev-1].next = b.next
	} else {
		s.room = b.next
	}
	if b.next != 0 {
		s.blocks[b.next-1].prev = b.prev
	}
	b.prev, b.next = 0, 0
}

// reset gives everything back; handles made before stay invalid.
func (s *slab) reset() {
	*s = slab{top: s.top, base: (s.top + 1) &^ 1}
}

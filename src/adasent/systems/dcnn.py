"""DCNN (Kalchbrenner et al. 2014): wide convolution, folding, dynamic k-max pooling."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adasent.checks import check_range
from adasent.nn import LevelClassifier, apply_linear
from adasent.systems.base import SentenceSystem
from adasent.systems.config import SystemConfig, whole


@dataclass(frozen=True)
class DcnnConfig(SystemConfig):
    """Shape of a DCNN."""

    #: Rows of the sentence matrix: dimensions the word vectors are mapped to, so that they can be
    #: folded once a layer.
    row_size: int = whole(48, 1)
    #: Words a filter sees, for each layer.
    widths: tuple[int, ...] = (7, 5)
    #: Feature maps of each layer.
    n_maps: tuple[int, ...] = (6, 14)
    #: k of the last pooling: values kept of each row.
    top: int = whole(4, 1, 64)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("widths", "n_maps"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            for value in getattr(self, name) or (None,):
                check_range(name, value, 1, 1024, whole=True)
        n_layers = len(self.widths)
        check_range("n_maps, as many as widths,", len(self.n_maps), n_layers, n_layers)
        n_folded = 2**n_layers
        check_range(f"row_size / {n_folded}", self.row_size / n_folded, 1, whole=True)


class WideConvolution(nn.Module):
    """Each row of the matrix is convolved by filters of its own; the result is wider."""

    def __init__(self, n_in: int, n_out: int, n_rows: int, width: int) -> None:
        super().__init__()
        scale = (n_in * width) ** -0.5
        self.weight = nn.Parameter(torch.randn(width, n_rows, n_in, n_out) * scale)
        self.bias = nn.Parameter(torch.zeros(n_out, n_rows // 2))  # added after folding

    def forward(self, maps: Tensor) -> Tensor:
        """(B, n_in, rows, S) -> (B, n_out, rows, S + width - 1)."""
        width = self.weight.shape[0]
        padded = F.pad(maps, (width - 1, width - 1)).permute(2, 0, 3, 1)  # (rows, B, S', n_in)
        n_places = padded.shape[2] - width + 1
        rows, batch = padded.shape[:2]
        total = None
        for i in range(width):
            seen = padded[:, :, i : i + n_places].reshape(rows, batch * n_places, -1)
            part = torch.bmm(seen, self.weight[i])
            total = part if total is None else total + part
        assert total is not None
        return total.view(rows, batch, n_places, -1).permute(1, 3, 0, 2)


class Dcnn(SentenceSystem):
    """Layers of wide convolution, folding, k-max pooling and tanh; then the classifier."""

    config_type = DcnnConfig
    config: DcnnConfig

    def __init__(self, config: DcnnConfig) -> None:
        super().__init__(config)
        self.rows = nn.Linear(config.vector_size, config.row_size, bias=False)
        nn.init.orthogonal_(self.rows.weight)
        n_in, n_rows = 1, config.row_size
        self.layers = nn.ModuleList()
        for width, n_out in zip(config.widths, config.n_maps, strict=True):
            self.layers.append(WideConvolution(n_in, n_out, n_rows, width))
            n_in, n_rows = n_out, n_rows // 2
        self.classifier = LevelClassifier(
            n_in * n_rows * config.top, 0, config.n_classes, config.multilabel
        )

    def sentences(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Convolve, fold, pool and bend, layer by layer."""
        maps = apply_linear(self.rows, words).transpose(1, 2)[:, None]  # (B, 1, rows, T)
        lengths = lengths.to(words.device)
        widest = words.shape[1]
        extent = lengths
        n_layers = len(self.layers)
        for number, layer in enumerate(self.layers, start=1):
            assert isinstance(layer, WideConvolution)
            maps = layer(maps)
            extent = extent + layer.weight.shape[0] - 1
            maps = maps[:, :, 0::2] + maps[:, :, 1::2]  # folding
            remaining = n_layers - number
            # k = max(top, ceil(remaining / layers * words)), but no more than there is.
            wanted = (lengths * remaining + n_layers - 1) // n_layers
            wanted = torch.minimum(wanted.clamp(min=self.config.top), extent)
            most = max(self.config.top, -(-widest * remaining // n_layers))
            maps = k_max(maps, extent, wanted, min(most, maps.shape[3]))
            if remaining == 0 and maps.shape[3] < self.config.top:
                maps = F.pad(maps, (0, self.config.top - maps.shape[3]))
            extent = wanted
            inside = torch.arange(maps.shape[3], device=maps.device) < extent[:, None]
            maps = torch.tanh(maps + layer.bias[:, :, None])
            maps = maps.masked_fill(~inside[:, None, None], 0.0)
        return maps.flatten(1)


def k_max(maps: Tensor, extent: Tensor, wanted: Tensor, most: int) -> Tensor:
    """The largest values of each row of maps (B, n, rows, S), in the order they stand in.

    Of a sentence, ``extent`` (B,) columns count and ``wanted`` (B,) values are kept, no more than
    ``most`` and ``extent``; the result (B, n, rows, most) has zeros behind them.
    """
    n_places = maps.shape[3]
    inside = torch.arange(n_places, device=maps.device) < extent[:, None]
    ranked = maps.masked_fill(~inside[:, None, None], float("-inf"))
    places = ranked.topk(most, dim=3).indices  # by value
    beyond = torch.arange(most, device=maps.device) >= wanted[:, None]
    places = places.masked_fill(beyond[:, None, None], n_places).sort(dim=3).values
    kept = torch.take_along_dim(maps, places.clamp(max=n_places - 1), dim=3)
    return kept.masked_fill(places == n_places, 0.0)
